-- backend: Name the server's process that serves this transaction (PostgreSQL only).
SELECT pg_backend_pid()
