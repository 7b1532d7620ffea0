-- remove: Remove deadlines: the job has ended, or was revived.
DELETE FROM leasehold.deadline
WHERE job_id = ANY(ARRAY(SELECT value::bigint FROM jsonb_array_elements_text(%(jobs)s::jsonb)))
