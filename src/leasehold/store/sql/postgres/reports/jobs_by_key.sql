-- jobs_by_key: List the jobs of a kind whose keys lie in a range, newest first; reads that range of the index.
-- Differs from SQLite: ~>=~ and ~<~ compare bytes, as the index does; other comparisons follow the database's locale.
WITH matched AS MATERIALIZED (
    SELECT task.id FROM leasehold.task
    WHERE task.parent_id IS NULL AND task.kind = %(kind)s::text AND task.key ~>=~ %(low)s::text
      AND task.key ~<~ %(high)s::text
      AND (%(queue)s::text IS NULL OR task.queue = %(queue)s::text)
      AND (%(before)s::bigint IS NULL OR task.id < %(before)s::bigint)
),
found AS (
    SELECT matched.id, CASE WHEN outcome.status IS NOT NULL THEN outcome.status
         WHEN EXISTS (SELECT 1 FROM leasehold.ready WHERE ready.task_id = matched.id) THEN 'READY'
         WHEN EXISTS (SELECT 1 FROM leasehold.lease WHERE lease.task_id = matched.id) THEN 'RUNNING'
         WHEN EXISTS (
            SELECT 1 FROM leasehold.task AS part
            WHERE part.parent_id = matched.id
              AND (EXISTS (SELECT 1 FROM leasehold.lease WHERE lease.task_id = part.id)
                OR EXISTS (SELECT 1 FROM leasehold.outcome AS ended WHERE ended.task_id = part.id))
         ) THEN 'RUNNING' ELSE 'NEW' END AS status
    FROM matched LEFT JOIN leasehold.outcome ON outcome.task_id = matched.id
),
page AS MATERIALIZED (
    SELECT id, status FROM found WHERE %(status)s::text IS NULL OR status = %(status)s::text
    ORDER BY id DESC LIMIT %(most)s::integer
)
SELECT task.id, task.kind, task.key, task.payload, page.status, outcome.output, outcome.failure,
    task.created_at, outcome.finished_at,
    EXISTS (SELECT 1 FROM leasehold.task AS part WHERE part.parent_id = task.id) AS has_parts
FROM page JOIN leasehold.task ON task.id = page.id
LEFT JOIN leasehold.outcome ON outcome.task_id = task.id
ORDER BY task.id DESC
