-- manual_clock_exists: Return whether a test has replaced the clock.
SELECT to_regclass('leasehold.manual_clock') IS NOT NULL
