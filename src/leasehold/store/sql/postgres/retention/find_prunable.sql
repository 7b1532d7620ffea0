-- find_prunable: List jobs by age, and which ended long ago with nothing live, in doubt, dead or undelivered.
WITH clock AS MATERIALIZED (SELECT leasehold.leasehold_now() AS now),
page AS MATERIALIZED (
    SELECT id, created_at < clock.now - %(age)s::bigint AS old FROM leasehold.task, clock
    WHERE id > %(after)s::bigint AND parent_id IS NULL AND kind = coalesce(%(kind)s::text, kind)
    ORDER BY id LIMIT %(most)s::integer
),
member AS MATERIALIZED (
    SELECT id AS job_id, id FROM page WHERE old
    UNION ALL
    SELECT task.job_id, task.id FROM leasehold.task
    WHERE task.job_id = ANY(ARRAY(SELECT id FROM page WHERE old)) AND task.parent_id IS NOT NULL
),
size AS MATERIALIZED (SELECT job_id, count(*) AS tasks FROM member GROUP BY job_id),
busy AS MATERIALIZED (
    SELECT member.job_id FROM member
    WHERE EXISTS (SELECT 1 FROM leasehold.waiting WHERE waiting.task_id = member.id)
       OR EXISTS (SELECT 1 FROM leasehold.ready WHERE ready.task_id = member.id)
       OR EXISTS (SELECT 1 FROM leasehold.lease WHERE lease.task_id = member.id)
       OR EXISTS (SELECT 1 FROM leasehold.unsettled WHERE unsettled.task_id = member.id)
       OR EXISTS (SELECT 1 FROM leasehold.dead_letter
           WHERE dead_letter.task_id = member.id AND dead_letter.state <> 'resolved')
       OR EXISTS (SELECT 1 FROM leasehold.delivery WHERE delivery.task_id = member.id
            AND (delivery.status <> 'sent' OR delivery.notified_at IS NULL OR delivery.notification_id IS NULL))
)
SELECT page.id, page.old, coalesce(size.tasks, 0) AS tasks,
    coalesce(page.old
        AND (SELECT outcome.finished_at < clock.now - %(age)s::bigint FROM leasehold.outcome
            WHERE outcome.task_id = page.id)
        AND page.id NOT IN (SELECT job_id FROM busy)
        AND NOT EXISTS (SELECT 1 FROM leasehold.effect
            WHERE effect.job_id = page.id AND effect.result IS NULL AND effect.failure IS NULL), false) AS prunable
FROM page CROSS JOIN clock LEFT JOIN size ON size.job_id = page.id ORDER BY page.id
