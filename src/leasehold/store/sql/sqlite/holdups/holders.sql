-- holders: List the tasks that hold slots of a limited queue, longest first.
SELECT task.job_id, job.kind, job.key, lease.started_at, worker.host, worker.pid
FROM main.slot
JOIN main.lease ON lease.task_id = slot.task_id
JOIN main.task ON task.id = slot.task_id
JOIN main.task AS job ON job.id = task.job_id
LEFT JOIN main.worker ON worker.id = lease.worker
WHERE slot.queue = :queue AND slot.task_id IS NOT NULL
ORDER BY lease.started_at, task.id LIMIT :most
