-- find_prunable: List jobs by age, and which ended long ago, with all below them, nothing being open any more.
WITH clock AS MATERIALIZED (SELECT leasehold.leasehold_now() AS now),
page AS MATERIALIZED (
    SELECT id, created_at < clock.now - %(age)s::bigint AS old FROM leasehold.task, clock
    WHERE id > %(after)s::bigint AND parent_id IS NULL AND kind = coalesce(%(kind)s::text, kind)
        AND NOT EXISTS (SELECT 1 FROM leasehold.link WHERE link.job_id = task.id)
    ORDER BY id LIMIT %(most)s::integer
),
tree AS MATERIALIZED (
    SELECT id AS root_id, id AS job_id FROM page WHERE old
    UNION ALL
    SELECT link.root_id, link.job_id FROM leasehold.link
    WHERE link.root_id = ANY(ARRAY(SELECT id FROM page WHERE old))
),
member AS MATERIALIZED (
    SELECT root_id, job_id AS id FROM tree
    UNION ALL
    SELECT tree.root_id, task.id FROM leasehold.task JOIN tree ON tree.job_id = task.job_id
    WHERE task.job_id = ANY(ARRAY(SELECT job_id FROM tree)) AND task.parent_id IS NOT NULL
),
size AS MATERIALIZED (SELECT root_id, count(*) AS tasks FROM member GROUP BY root_id),
ended AS MATERIALIZED (
    SELECT tree.root_id, coalesce((
            SELECT outcome.finished_at FROM leasehold.outcome WHERE outcome.task_id = tree.job_id), clock.now)
            >= clock.now - %(age)s::bigint AS young,
        EXISTS (SELECT 1 FROM leasehold.effect
            WHERE effect.job_id = tree.job_id AND effect.result IS NULL AND effect.failure IS NULL) AS doubtful
    FROM tree CROSS JOIN clock
),
busy AS MATERIALIZED (
    SELECT member.root_id FROM member
    WHERE EXISTS (SELECT 1 FROM leasehold.waiting WHERE waiting.task_id = member.id)
       OR EXISTS (SELECT 1 FROM leasehold.ready WHERE ready.task_id = member.id)
       OR EXISTS (SELECT 1 FROM leasehold.lease WHERE lease.task_id = member.id)
       OR EXISTS (SELECT 1 FROM leasehold.unsettled WHERE unsettled.task_id = member.id)
       OR EXISTS (SELECT 1 FROM leasehold.dead_letter
           WHERE dead_letter.task_id = member.id AND dead_letter.state <> 'resolved')
       OR EXISTS (SELECT 1 FROM leasehold.delivery WHERE delivery.task_id = member.id
            AND (delivery.status <> 'sent' OR delivery.notified_at IS NULL OR delivery.notification_id IS NULL))
)
SELECT page.id, page.old, (SELECT count(*) FROM tree WHERE tree.root_id = page.id) AS jobs,
    coalesce(size.tasks, 0) AS tasks,
    coalesce(page.old
        AND page.id NOT IN (SELECT root_id FROM ended WHERE young OR doubtful)
        AND page.id NOT IN (SELECT root_id FROM busy), false) AS prunable
FROM page LEFT JOIN size ON size.root_id = page.id ORDER BY page.id
