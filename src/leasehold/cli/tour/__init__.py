"""The tour: jobs, real worker processes, kill -9 among them, and a table that is computed from two sources."""
