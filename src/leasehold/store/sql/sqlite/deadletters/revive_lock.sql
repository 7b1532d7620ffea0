-- revive_lock: Let orchestrators and revivals that are under way end, and keep new ones out until this transaction ends.
-- Differs from PostgreSQL: BEGIN IMMEDIATE has done so already.
SELECT 1
