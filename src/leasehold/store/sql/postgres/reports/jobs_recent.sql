-- jobs_recent: List jobs of any status, or DONE ones, newest first; reads no further back than it must.
WITH page AS MATERIALIZED (
    SELECT id FROM leasehold.task
    WHERE parent_id IS NULL
      AND (%(kind)s::text IS NULL OR kind = %(kind)s::text)
      AND (%(queue)s::text IS NULL OR queue = %(queue)s::text)
      AND (%(before)s::bigint IS NULL OR id < %(before)s::bigint)
      AND (%(status)s::text IS NULL OR EXISTS (
        SELECT 1 FROM leasehold.outcome WHERE outcome.task_id = task.id AND outcome.status = %(status)s::text))
    ORDER BY id DESC LIMIT %(most)s::integer
)
SELECT task.id, task.kind, task.key, task.payload,
    CASE WHEN outcome.status IS NOT NULL THEN outcome.status
         WHEN EXISTS (SELECT 1 FROM leasehold.ready WHERE ready.task_id = task.id) THEN 'READY'
         WHEN EXISTS (SELECT 1 FROM leasehold.lease WHERE lease.task_id = task.id) THEN 'RUNNING'
         WHEN EXISTS (
            SELECT 1 FROM leasehold.task AS part
            WHERE part.parent_id = task.id
              AND (EXISTS (SELECT 1 FROM leasehold.lease WHERE lease.task_id = part.id)
                OR EXISTS (SELECT 1 FROM leasehold.outcome AS ended WHERE ended.task_id = part.id))
         ) THEN 'RUNNING' ELSE 'NEW' END AS status,
    outcome.output, outcome.failure,
    task.created_at, outcome.finished_at,
    EXISTS (SELECT 1 FROM leasehold.task AS part WHERE part.parent_id = task.id) AS has_parts
FROM page JOIN leasehold.task ON task.id = page.id
LEFT JOIN leasehold.outcome ON outcome.task_id = task.id
ORDER BY task.id DESC
