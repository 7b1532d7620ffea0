-- of_job: Read the budgets that a job spends from: those of the job at its root.
SELECT name, most, spent FROM leasehold.budget
WHERE job_id = coalesce((SELECT root_id FROM leasehold.link WHERE job_id = %(job)s::bigint), %(job)s::bigint)
ORDER BY name
