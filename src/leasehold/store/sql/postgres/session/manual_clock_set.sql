-- manual_clock_set: Set the clock of a test.
WITH gone AS (DELETE FROM leasehold.manual_clock)
INSERT INTO leasehold.manual_clock (now) VALUES (%(now)s)
