-- horizon: Number the oldest transaction that is under way, and the next to begin.
-- Differs from PostgreSQL: here writers come one after the other, so nothing seen can have something unseen before it.
SELECT 0 AS oldest, 0 AS next
