-- tree: List the jobs below a job, each after its parent, with their status and what each spent.
WITH RECURSIVE tree AS (
    SELECT link.job_id, link.parent_job_id, 1 AS depth, printf('%020d', link.job_id) AS path FROM main.link
    WHERE link.parent_job_id = :job
    UNION ALL
    SELECT link.job_id, link.parent_job_id, tree.depth + 1, tree.path || printf('/%020d', link.job_id)
    FROM tree JOIN main.link ON link.parent_job_id = tree.job_id
),
page AS MATERIALIZED (SELECT * FROM tree ORDER BY path LIMIT :most)
SELECT page.job_id, page.parent_job_id, page.depth, status.kind, status.key, status.status,
    (SELECT json_group_object(total.name, total.amount) FROM (
        SELECT spend.name, sum(spend.amount) AS amount FROM main.spend
        WHERE spend.job_id = page.job_id GROUP BY spend.name) AS total) AS spent
FROM page JOIN main.task_status AS status ON status.id = page.job_id
ORDER BY page.path
