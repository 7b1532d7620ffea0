-- jobs_by_key: List the jobs of a kind whose keys lie in a range, newest first; reads that range of the index.
WITH matched AS MATERIALIZED (
    SELECT task.id FROM main.task
    WHERE task.parent_id IS NULL AND task.kind = :kind AND task.key >= :low AND task.key < :high
      AND (:queue IS NULL OR task.queue = :queue) AND (:before IS NULL OR task.id < :before)
),
found AS (
    SELECT matched.id, CASE WHEN outcome.status IS NOT NULL THEN outcome.status
         WHEN EXISTS (SELECT 1 FROM main.ready WHERE ready.task_id = matched.id) THEN 'READY'
         WHEN EXISTS (SELECT 1 FROM main.lease WHERE lease.task_id = matched.id) THEN 'RUNNING'
         WHEN EXISTS (
            SELECT 1 FROM main.task AS part
            WHERE part.parent_id = matched.id
              AND (EXISTS (SELECT 1 FROM main.lease WHERE lease.task_id = part.id)
                OR EXISTS (SELECT 1 FROM main.outcome AS ended WHERE ended.task_id = part.id))
         ) THEN 'RUNNING' ELSE 'NEW' END AS status
    FROM matched LEFT JOIN main.outcome ON outcome.task_id = matched.id
),
page AS MATERIALIZED (
    SELECT id, status FROM found WHERE :status IS NULL OR status = :status ORDER BY id DESC LIMIT :most
)
SELECT task.id, task.kind, task.key, task.payload, page.status, outcome.output, outcome.failure,
    task.created_at, outcome.finished_at,
    EXISTS (SELECT 1 FROM main.task AS part WHERE part.parent_id = task.id) AS has_parts
FROM page JOIN main.task ON task.id = page.id
LEFT JOIN main.outcome ON outcome.task_id = task.id
ORDER BY task.id DESC
