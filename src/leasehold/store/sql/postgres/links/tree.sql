-- tree: List a job and all jobs below it, each after its parent, with their status and what each spent.
WITH RECURSIVE tree AS (
    SELECT %(job)s::bigint AS job_id, NULL::bigint AS parent_job_id, ARRAY[]::bigint[] AS path
    UNION ALL
    SELECT child.job_id, tree.job_id, tree.path || child.job_id FROM tree CROSS JOIN LATERAL (
        SELECT link.job_id FROM leasehold.link WHERE link.parent_job_id = tree.job_id OFFSET 0
    ) AS child
),
page AS MATERIALIZED (SELECT * FROM tree ORDER BY path LIMIT %(most)s::integer)
SELECT page.job_id, page.parent_job_id, cardinality(page.path) AS depth, task.kind, task.key,
    (SELECT status.status FROM leasehold.task_status AS status WHERE status.id = page.job_id) AS status,
    (SELECT jsonb_object_agg(total.name, total.amount)::text FROM (
        SELECT spend.name, sum(spend.amount) AS amount FROM leasehold.spend
        WHERE spend.job_id = page.job_id GROUP BY spend.name) AS total) AS spent
FROM page JOIN leasehold.task ON task.id = page.job_id AND task.parent_id IS NULL
ORDER BY page.path
