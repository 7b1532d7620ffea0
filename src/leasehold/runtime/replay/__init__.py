"""A recorded job runs again without touching the outside world."""
