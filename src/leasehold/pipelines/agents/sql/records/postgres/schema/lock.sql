-- lock: Keep other migrations out until this transaction ends.
SELECT pg_advisory_xact_lock(4774451407313060419)
