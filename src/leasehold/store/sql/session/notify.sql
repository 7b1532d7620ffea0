-- notify: Send a wake-up (PostgreSQL only).
SELECT pg_notify('leasehold', %(word)s)
