-- tasks: List tasks of a job with the places they stand in: itself, then each stage followed by its segments.
WITH member AS MATERIALIZED (
    SELECT task.*, CASE WHEN task.segment IS NULL THEN task.id ELSE task.parent_id END AS trunk,
        CASE WHEN task.segment IS NULL THEN 0 ELSE task.epoch END AS fan, coalesce(task.segment, -1) AS part
    FROM main.task
    WHERE task.id IN (
        SELECT id FROM main.task WHERE id = :job AND parent_id IS NULL
        UNION ALL
        SELECT id FROM main.task WHERE job_id = :job AND parent_id IS NOT NULL)
),
page AS MATERIALIZED (
    SELECT * FROM member WHERE (trunk, fan, part) > (:trunk, :fan, :part) ORDER BY trunk, fan, part LIMIT :most
)
SELECT page.id, page.trunk, page.fan, page.part, page.kind, page.stage, page.segment, page.epoch, page.key,
    page.payload, page.item,
    page.each_field, page.queue, page.priority, page.attempts_max, page.lease_ms, page.on_lost, page.created_at,
    page.parent_id, CASE WHEN page.stage IS NULL THEN (SELECT count(*) FROM member
        WHERE member.stage IS NOT NULL AND member.segment IS NULL)
        WHEN page.segment IS NULL THEN (SELECT count(*) FROM main.need WHERE need.task_id = page.id)
            ELSE 0 END AS unmet,
    trim(iif(waiting.task_id IS NULL, '', 'waiting') || iif(ready.task_id IS NULL, '', ' ready')
        || iif(lease.task_id IS NULL, '', ' lease')) AS place,
    waiting.due_at, coalesce(waiting.attempt, ready.attempt, lease.attempt) AS stored_attempt,
    coalesce(waiting.fence, ready.fence, lease.fence) AS stored_fence,
    coalesce(waiting.epoch, ready.epoch, lease.epoch) AS stored_epoch,
    ready.queue AS ready_queue, ready.priority AS ready_priority, ready.route AS ready_route,
    coalesce(waiting.losses, ready.losses, lease.losses) AS losses
FROM page
LEFT JOIN main.waiting ON waiting.task_id = page.id
LEFT JOIN main.ready ON ready.task_id = page.id
LEFT JOIN main.lease ON lease.task_id = page.id
ORDER BY page.trunk, page.fan, page.part
