-- revive_lock: Let orchestrators and revivals that are under way end, and keep new ones out until this transaction ends.
SELECT pg_advisory_xact_lock(4774451407313060419)
