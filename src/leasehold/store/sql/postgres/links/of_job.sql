-- of_job: Read how a job is linked: the job that submitted it, and the one at the root.
SELECT parent_job_id, root_id FROM leasehold.link WHERE job_id = %(job)s::bigint
