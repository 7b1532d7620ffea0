-- jobs_recent: List jobs of any status, or DONE ones, newest first; reads no further back than it must.
WITH page AS MATERIALIZED (
    SELECT id FROM main.task
    WHERE parent_id IS NULL
      AND (:kind IS NULL OR kind = :kind)
      AND (:queue IS NULL OR queue = :queue)
      AND (:before IS NULL OR id < :before)
      AND (:status IS NULL OR EXISTS (
        SELECT 1 FROM main.outcome WHERE outcome.task_id = task.id AND outcome.status = :status))
    ORDER BY id DESC LIMIT :most
)
SELECT task.id, task.kind, task.key, task.payload,
    CASE WHEN outcome.status IS NOT NULL THEN outcome.status
         WHEN EXISTS (SELECT 1 FROM main.ready WHERE ready.task_id = task.id) THEN 'READY'
         WHEN EXISTS (SELECT 1 FROM main.lease WHERE lease.task_id = task.id) THEN 'RUNNING'
         WHEN EXISTS (
            SELECT 1 FROM main.task AS part
            WHERE part.parent_id = task.id
              AND (EXISTS (SELECT 1 FROM main.lease WHERE lease.task_id = part.id)
                OR EXISTS (SELECT 1 FROM main.outcome AS ended WHERE ended.task_id = part.id))
         ) THEN 'RUNNING' ELSE 'NEW' END AS status,
    outcome.output, outcome.failure,
    task.created_at, outcome.finished_at,
    EXISTS (SELECT 1 FROM main.task AS part WHERE part.parent_id = task.id) AS has_parts
FROM page JOIN main.task ON task.id = page.id
LEFT JOIN main.outcome ON outcome.task_id = task.id
ORDER BY task.id DESC
