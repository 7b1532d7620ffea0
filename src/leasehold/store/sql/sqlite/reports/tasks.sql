-- tasks: List the tasks of a job with their places, leases and ends.
SELECT status.id, status.parent_id, status.stage, status.segment, status.queue, status.status,
    coalesce(status.attempt, (SELECT max(event.attempt) FROM main.event WHERE event.task_id = status.id)) AS attempt,
    status.attempts_max, status.due_at, lease.fence, lease.expires_at, lease.started_at, lease.progress,
    worker.host, worker.pid, outcome.failure, status.finished_at
FROM main.task_status AS status
LEFT JOIN main.lease ON lease.task_id = status.id
LEFT JOIN main.worker ON worker.id = lease.worker
LEFT JOIN main.outcome ON outcome.task_id = status.id
WHERE status.id IN (
        SELECT id FROM main.task WHERE id = :job AND parent_id IS NULL
        UNION ALL
        SELECT id FROM main.task WHERE job_id = :job AND parent_id IS NOT NULL)
ORDER BY status.id LIMIT :most
