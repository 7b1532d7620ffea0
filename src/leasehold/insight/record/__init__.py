"""A job as a file: export and read back."""
