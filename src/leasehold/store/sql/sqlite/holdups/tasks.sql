-- tasks: List the tasks of a job that have not ended, where they stand, who holds them, and their last setback.
-- A waiting task that was divided into parts is left out: its parts are listed.
WITH member AS MATERIALIZED (
    SELECT id, stage, segment, queue, priority, attempts_max FROM main.task WHERE id = :job AND parent_id IS NULL
    UNION ALL
    SELECT id, stage, segment, queue, priority, attempts_max FROM main.task
    WHERE job_id = :job AND parent_id IS NOT NULL
)
SELECT member.id, member.stage, member.segment, member.queue, member.priority, ready.route, ready.position,
    coalesce(waiting.attempt, ready.attempt, lease.attempt) AS attempt, member.attempts_max,
    coalesce(waiting.losses, ready.losses, lease.losses) AS losses,
    CASE WHEN waiting.task_id IS NOT NULL THEN 'waiting' WHEN ready.task_id IS NOT NULL THEN 'ready' ELSE 'lease' END
        AS place,
    waiting.due_at, lease.worker, worker.host, worker.boot, worker.pid, lease.expires_at, lease.started_at,
    lease.progress, lease.cancel_reason,
    (SELECT max(event.at) FROM main.event WHERE event.task_id = member.id) AS since,
    (SELECT event.detail FROM main.event WHERE event.task_id = member.id AND event.name IN ('retried', 'reclaimed')
        ORDER BY event.id DESC LIMIT 1) AS setback
FROM member
LEFT JOIN main.waiting ON waiting.task_id = member.id
LEFT JOIN main.ready ON ready.task_id = member.id
LEFT JOIN main.lease ON lease.task_id = member.id
LEFT JOIN main.worker ON worker.id = lease.worker
WHERE (ready.task_id IS NOT NULL OR lease.task_id IS NOT NULL OR waiting.task_id IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM main.task AS part WHERE part.parent_id = member.id)
ORDER BY member.id LIMIT :most
