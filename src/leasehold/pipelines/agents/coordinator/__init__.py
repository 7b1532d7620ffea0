"""The coordinator of a session: one process that leases children, runs them, and ends what is to be ended."""
