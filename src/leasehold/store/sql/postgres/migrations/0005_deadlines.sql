-- 0005_deadlines: When jobs must have ended.
CREATE TABLE leasehold.deadline (job_id bigint PRIMARY KEY, at bigint NOT NULL);
CREATE INDEX deadline_at ON leasehold.deadline (at);
