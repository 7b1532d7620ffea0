"""The tour: jobs in real worker processes, some killed with SIGKILL, and a table computed from two sources."""
