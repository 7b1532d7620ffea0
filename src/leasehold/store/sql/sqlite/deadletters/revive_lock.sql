-- revive_lock: Wait until running orchestrators and revivals end, and block new ones in this transaction.
-- Differs from PostgreSQL: BEGIN IMMEDIATE has done so already.
SELECT 1
