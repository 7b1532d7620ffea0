-- revive_hold: Lock what waits of a job, so that no cancel ends it meanwhile.
-- Differs from PostgreSQL: BEGIN IMMEDIATE has done so already.
SELECT task_id FROM main.waiting WHERE task_id = :job
