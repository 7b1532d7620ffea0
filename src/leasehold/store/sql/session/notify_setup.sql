-- notify_setup: A hint need not wait for the disk (PostgreSQL only).
SET synchronous_commit = off
