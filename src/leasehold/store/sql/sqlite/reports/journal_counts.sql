-- journal_counts: Count, task by task after :after, how often each was claimed, released, reclaimed, ended and revived.
WITH page AS MATERIALIZED (
    SELECT id, job_id FROM main.task WHERE id > :after ORDER BY id LIMIT :most
)
SELECT page.id, page.job_id,
    (SELECT max(outcome.status) FROM main.outcome WHERE outcome.task_id = page.id) AS status,
    (SELECT max(outcome.fence) FROM main.outcome WHERE outcome.task_id = page.id) AS fence,
    (SELECT count(*) FROM main.outcome WHERE outcome.task_id = page.id)
        + (SELECT count(*) FROM main.outcome_past WHERE outcome_past.task_id = page.id) AS outcomes,
    count(*) FILTER (WHERE event.name = 'claimed') AS claims,
    count(*) FILTER (WHERE event.name = 'released') AS releases,
    count(*) FILTER (WHERE event.name = 'reclaimed') AS reclaims,
    count(*) FILTER (WHERE event.name IN ('done', 'failed', 'cancelled')
        OR event.name = 'reclaimed' AND event.detail ->> 'status' <> 'READY') AS endings,
    count(*) FILTER (WHERE event.name = 'revived') AS revivals
FROM page LEFT JOIN main.event ON event.task_id = page.id
GROUP BY page.id, page.job_id ORDER BY page.id
