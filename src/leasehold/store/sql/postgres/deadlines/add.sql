-- add: Set when new jobs must have ended.
INSERT INTO leasehold.deadline (job_id, at)
SELECT id, created_at + %(after_us)s::bigint FROM leasehold.task
WHERE id = ANY(ARRAY(SELECT value::bigint FROM jsonb_array_elements_text(%(jobs)s::jsonb)))
ON CONFLICT (job_id) DO NOTHING
