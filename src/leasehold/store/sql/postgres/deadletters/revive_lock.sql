-- revive_lock: Wait until running orchestrators and revivals end, and block new ones in this transaction.
SELECT pg_advisory_xact_lock(4774451407313060419)
