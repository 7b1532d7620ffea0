-- journal_counts: Count, task by task after :after, how often each was claimed, released, reclaimed, ended and revived.
WITH page AS MATERIALIZED (
    SELECT id, job_id FROM leasehold.task WHERE id > %(after)s::bigint ORDER BY id LIMIT %(most)s::integer
)
SELECT page.id, page.job_id,
    (SELECT max(outcome.status) FROM leasehold.outcome WHERE outcome.task_id = page.id) AS status,
    (SELECT max(outcome.fence) FROM leasehold.outcome WHERE outcome.task_id = page.id) AS fence,
    (SELECT count(*) FROM leasehold.outcome WHERE outcome.task_id = page.id)
        + (SELECT count(*) FROM leasehold.outcome_past WHERE outcome_past.task_id = page.id) AS outcomes,
    count(*) FILTER (WHERE event.name = 'claimed') AS claims,
    count(*) FILTER (WHERE event.name = 'released') AS releases,
    count(*) FILTER (WHERE event.name = 'reclaimed') AS reclaims,
    count(*) FILTER (WHERE event.name IN ('done', 'failed', 'cancelled')
        OR event.name = 'reclaimed' AND event.detail::jsonb ->> 'status' <> 'READY') AS endings,
    count(*) FILTER (WHERE event.name = 'revived') AS revivals
FROM page LEFT JOIN leasehold.event ON event.task_id = page.id
GROUP BY page.id, page.job_id ORDER BY page.id
