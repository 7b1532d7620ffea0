-- hold: Lock the deadline of a job, so that no revival takes it away meanwhile.
-- Differs from PostgreSQL: BEGIN IMMEDIATE has done so already.
SELECT job_id FROM main.deadline WHERE job_id = :job
