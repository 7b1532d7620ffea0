-- running: List what of a queue and its branches runs now, longest first, with how far it has come.
SELECT task.job_id, task.kind, task.stage, task.segment, job.key, lease.attempt, lease.started_at, lease.progress
FROM main.lease JOIN main.task ON task.id = lease.task_id JOIN main.task AS job ON job.id = task.job_id
WHERE substr(task.queue, 1, instr(task.queue || '/', '/') - 1) = :queue
ORDER BY lease.started_at, lease.task_id LIMIT :most
