-- 0004_silent_workers: Find worker processes that ended or were last seen long ago.
CREATE INDEX worker_silent ON worker (coalesce(ended_at, seen_at, started_at));
