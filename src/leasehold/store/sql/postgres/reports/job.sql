-- job: Read one job with its place and its end.
SELECT task.id, task.kind, task.key, task.payload, status.status, outcome.output, outcome.failure,
    task.created_at, outcome.finished_at,
    EXISTS (SELECT 1 FROM leasehold.task AS part WHERE part.parent_id = task.id) AS has_parts
FROM leasehold.task
JOIN leasehold.task_status AS status ON status.id = task.id
LEFT JOIN leasehold.outcome ON outcome.task_id = task.id
WHERE task.id = %(job)s::bigint AND task.parent_id IS NULL
