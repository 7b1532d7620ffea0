-- tasks: List the tasks of a job with their places, leases and ends.
SELECT status.id, status.parent_id, status.stage, status.segment, status.queue, status.status,
    coalesce(status.attempt, (
        SELECT CASE WHEN event.name = 'revived' THEN 0 WHEN event.name = 'released' THEN event.attempt - 1
            WHEN event.name = 'reclaimed' AND event.detail::jsonb ->> 'began' = 'false' THEN event.attempt - 1
            ELSE event.attempt END
        FROM leasehold.event
        WHERE event.task_id = status.id AND (event.attempt IS NOT NULL OR event.name = 'revived')
        ORDER BY event.id DESC LIMIT 1)) AS attempt,
    status.attempts_max,
    coalesce(waiting.losses, ready.losses, lease.losses, (
        SELECT CASE event.name WHEN 'revived' THEN 0 ELSE (event.detail::jsonb ->> 'losses')::integer END
        FROM leasehold.event
        WHERE event.task_id = status.id AND (event.name = 'revived'
            OR event.name IN ('reclaimed', 'cleared') AND event.detail::jsonb ->> 'losses' IS NOT NULL)
        ORDER BY event.id DESC LIMIT 1), 0) AS losses,
    status.due_at, lease.fence, lease.expires_at, lease.started_at, lease.progress,
    worker.host, worker.pid, outcome.failure, status.finished_at
FROM leasehold.task_status AS status
LEFT JOIN leasehold.waiting ON waiting.task_id = status.id
LEFT JOIN leasehold.ready ON ready.task_id = status.id
LEFT JOIN leasehold.lease ON lease.task_id = status.id
LEFT JOIN leasehold.worker ON worker.id = lease.worker
LEFT JOIN leasehold.outcome ON outcome.task_id = status.id
WHERE status.id = ANY(ARRAY(
        SELECT id FROM leasehold.task WHERE id = %(job)s::bigint AND parent_id IS NULL
        UNION ALL
        SELECT id FROM leasehold.task WHERE job_id = %(job)s::bigint AND parent_id IS NOT NULL))
ORDER BY status.id LIMIT %(most)s::integer
