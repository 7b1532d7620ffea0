"""Group commit: requests gather while a transaction is written, and each gets its own reply."""
