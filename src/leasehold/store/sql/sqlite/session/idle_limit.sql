-- idle_limit: End this transaction if its process falls silent for so many milliseconds, or is gone, so that nobody waits for it for ever.
-- Differs from PostgreSQL: SQLite has no such limit; a process that dies lets go of its lock.
SELECT :limit AS silence, NULL AS presence
