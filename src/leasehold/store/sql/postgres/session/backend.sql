-- backend: Name the server's process that serves this transaction.
SELECT pg_backend_pid()
