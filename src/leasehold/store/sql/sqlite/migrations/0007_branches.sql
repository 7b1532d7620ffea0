-- 0007_branches: Queues have branches, which share a limit for each of them; and a limit may have a pace.
ALTER TABLE queue ADD COLUMN pace_us INTEGER CHECK (pace_us > 0);
ALTER TABLE slot ADD COLUMN free_at INTEGER NOT NULL DEFAULT 0;
CREATE INDEX ready_branch ON ready (queue) WHERE instr(queue, '/') > 0;
