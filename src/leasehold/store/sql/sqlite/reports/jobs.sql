-- jobs: List jobs of one status that few have, newest first, by kind, queue and where the last page ended.
WITH page AS MATERIALIZED (
    SELECT id, status FROM main.task_status
    WHERE parent_id IS NULL
      AND (:status IS NULL OR status = :status)
      AND (:kind IS NULL OR kind = :kind)
      AND (:queue IS NULL OR queue = :queue)
      AND (:before IS NULL OR id < :before)
    ORDER BY id DESC LIMIT :most
)
SELECT task.id, task.kind, task.key, task.payload, page.status, outcome.output, outcome.failure,
    task.created_at, outcome.finished_at,
    EXISTS (SELECT 1 FROM main.task AS part WHERE part.parent_id = task.id) AS has_parts
FROM page JOIN main.task ON task.id = page.id
LEFT JOIN main.outcome ON outcome.task_id = task.id
ORDER BY task.id DESC
