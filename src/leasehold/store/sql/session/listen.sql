-- listen: Hear wake-ups (PostgreSQL only).
LISTEN leasehold
