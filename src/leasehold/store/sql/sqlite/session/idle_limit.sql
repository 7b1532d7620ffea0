-- idle_limit: End this transaction if its process is idle or gone for so many milliseconds, so nobody waits for it.
-- Differs from PostgreSQL: SQLite has no such limit; a process that dies lets go of its lock.
SELECT :limit AS silence, NULL AS presence
