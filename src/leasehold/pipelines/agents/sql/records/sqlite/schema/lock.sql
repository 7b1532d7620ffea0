-- lock: Keep other migrations out until this transaction ends.
-- Differs from PostgreSQL: BEGIN IMMEDIATE has done so already.
SELECT 1
