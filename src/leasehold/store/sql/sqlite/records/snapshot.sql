-- snapshot: Have every read of this transaction see one moment.
-- Differs from PostgreSQL: here the first read of a transaction does that.
SELECT count(*) AS found FROM main.meta
