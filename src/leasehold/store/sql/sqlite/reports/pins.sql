-- pins: List what keeps dead rows from being removed: old transactions, prepared ones, and replication slots.
-- Differs from PostgreSQL: there are none; readers that pin the log are found in its shared memory.
SELECT NULL AS what, NULL AS name, :age AS age_us, NULL AS detail WHERE 0
