-- 0005_deadlines: When jobs must have ended.
CREATE TABLE deadline (job_id INTEGER PRIMARY KEY, at INTEGER NOT NULL) STRICT;
CREATE INDEX deadline_at ON deadline (at);
