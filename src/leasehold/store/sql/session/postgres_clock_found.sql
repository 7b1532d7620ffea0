-- postgres_clock_found: Tell whether a test has put a clock of its own in place (PostgreSQL only).
SELECT to_regclass('leasehold.hand_clock') IS NOT NULL
