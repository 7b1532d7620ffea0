-- tree: List a job and all jobs below it, each after its parent, with their status and what each spent.
WITH RECURSIVE tree AS (
    SELECT :job AS job_id, NULL AS parent_job_id, 0 AS depth, '' AS path
    UNION ALL
    SELECT link.job_id, tree.job_id, tree.depth + 1, tree.path || printf('/%020d', link.job_id)
    FROM tree JOIN main.link ON link.parent_job_id = tree.job_id
),
page AS MATERIALIZED (SELECT * FROM tree ORDER BY path LIMIT :most)
SELECT page.job_id, page.parent_job_id, page.depth, status.kind, status.key, status.status,
    (SELECT json_group_object(total.name, total.amount) FROM (
        SELECT spend.name, sum(spend.amount) AS amount FROM main.spend
        WHERE spend.job_id = page.job_id GROUP BY spend.name) AS total) AS spent
FROM main.task_status AS status JOIN page ON page.job_id = status.id
WHERE status.id IN (SELECT job_id FROM page) AND status.parent_id IS NULL
ORDER BY page.path
