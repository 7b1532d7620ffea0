-- children: List the jobs that a job's tasks have submitted, in order.
SELECT task.id, task.kind, task.key, task.payload
FROM main.link JOIN main.task ON task.id = link.job_id
WHERE link.parent_job_id = :job ORDER BY link.job_id LIMIT :most
