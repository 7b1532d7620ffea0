-- postgres_clock_set: Set the clock of a test (PostgreSQL only).
WITH gone AS (DELETE FROM leasehold.hand_clock)
INSERT INTO leasehold.hand_clock (now) VALUES (%(now)s)
