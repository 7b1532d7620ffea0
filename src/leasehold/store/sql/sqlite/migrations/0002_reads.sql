-- 0002_reads: What each worker serves and when it was last seen.
-- Differs from PostgreSQL: the index of keys is in the order of bytes already, so it finds keys by their start.
ALTER TABLE worker ADD COLUMN queues TEXT;
ALTER TABLE worker ADD COLUMN routes TEXT;
ALTER TABLE worker ADD COLUMN concurrency INTEGER;
ALTER TABLE worker ADD COLUMN seen_at INTEGER;
