-- 0002_reads: What each worker serves and when it was last seen; an index that finds keys by their start.
ALTER TABLE leasehold.worker ADD COLUMN queues text;
ALTER TABLE leasehold.worker ADD COLUMN routes text;
ALTER TABLE leasehold.worker ADD COLUMN concurrency integer;
ALTER TABLE leasehold.worker ADD COLUMN seen_at bigint;

DROP INDEX leasehold.task_key;
CREATE UNIQUE INDEX task_key ON leasehold.task (kind, key text_pattern_ops) WHERE parent_id IS NULL;
