-- running: List what of a queue and its branches runs now, longest first, with how far it has come.
SELECT task.job_id, task.kind, task.stage, task.segment, job.key, lease.attempt, lease.started_at, lease.progress
FROM leasehold.lease JOIN leasehold.task ON task.id = lease.task_id JOIN leasehold.task AS job ON job.id = task.job_id
WHERE split_part(task.queue, '/', 1) = %(queue)s
ORDER BY lease.started_at, lease.task_id LIMIT %(most)s::integer
