-- 0007_branches: Queues have branches, which share a limit for each of them; and a limit may have a pace.
ALTER TABLE leasehold.queue ADD COLUMN pace_us bigint CHECK (pace_us > 0);
ALTER TABLE leasehold.slot ADD COLUMN free_at bigint NOT NULL DEFAULT 0;
CREATE INDEX ready_branch ON leasehold.ready (queue COLLATE "C") WHERE strpos(queue, '/') > 0;
