-- jobs: List jobs of one status that few have, newest first, by kind, queue and where the last page ended.
WITH page AS MATERIALIZED (
    SELECT id, status FROM leasehold.task_status
    WHERE parent_id IS NULL
      AND (%(status)s::text IS NULL OR status = %(status)s::text)
      AND (%(kind)s::text IS NULL OR kind = %(kind)s::text)
      AND (%(queue)s::text IS NULL OR queue = %(queue)s::text)
      AND (%(before)s::bigint IS NULL OR id < %(before)s::bigint)
    ORDER BY id DESC LIMIT %(most)s::integer
)
SELECT task.id, task.kind, task.key, task.payload, page.status, outcome.output, outcome.failure,
    task.created_at, outcome.finished_at,
    EXISTS (SELECT 1 FROM leasehold.task AS part WHERE part.parent_id = task.id) AS has_parts
FROM page JOIN leasehold.task ON task.id = page.id
LEFT JOIN leasehold.outcome ON outcome.task_id = task.id
ORDER BY task.id DESC
