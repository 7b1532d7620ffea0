-- view: Read a task's live lease: what its holder got, until when, who holds it, and how many effects there are.
SELECT lease.task_id, lease.fence, lease.attempt, lease.epoch, 0 AS position, task.job_id, task.kind, task.stage,
    task.segment,
    coalesce(task.key, job.key) AS key, coalesce(task.payload, job.payload) AS payload, task.item,
    task.queue, task.priority, task.attempts_max, task.lease_ms, lease.started_at, lease.losses,
    lease.expires_at, worker.host, worker.boot, worker.pid,
    (SELECT coalesce(max(effect.number), 0) FROM main.effect
        WHERE effect.job_id = task.job_id AND effect.task_id = task.id) AS effects
FROM main.lease JOIN main.task ON task.id = lease.task_id
JOIN main.worker ON worker.id = lease.worker
LEFT JOIN main.task AS job ON task.parent_id IS NOT NULL AND job.id = task.job_id
WHERE lease.task_id = :task AND lease.expires_at > leasehold_now()
