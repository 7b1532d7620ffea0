-- hold: Lock the deadline of a job, so that no revival takes it away meanwhile.
SELECT job_id FROM leasehold.deadline WHERE job_id = %(job)s::bigint FOR UPDATE
