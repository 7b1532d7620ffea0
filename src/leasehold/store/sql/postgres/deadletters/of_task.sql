-- of_task: List the dead letters of a job, or of one task of it and those it stands for, oldest first.
SELECT letter.*, (SELECT failure FROM leasehold.dead_letter WHERE dead_letter.id = letter.id) AS failure
FROM leasehold.dead_letter_detail AS letter
WHERE job_id = %(job)s::bigint AND (%(task)s::bigint IS NULL OR task_id = ANY(leasehold.peers(%(task)s::bigint)))
ORDER BY id LIMIT %(most)s::integer
