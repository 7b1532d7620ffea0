"""What a worker does besides running tasks: renew leases, reclaim, advance."""
