-- find_prunable: List jobs by age, and which ended long ago, with all below them, nothing being open any more.
WITH clock AS MATERIALIZED (SELECT leasehold_now() AS now),
page AS MATERIALIZED (
    SELECT id, created_at < clock.now - :age AS old FROM main.task, clock
    WHERE id > :after AND parent_id IS NULL AND kind = coalesce(:kind, kind)
        AND NOT EXISTS (SELECT 1 FROM main.link WHERE link.job_id = task.id)
    ORDER BY id LIMIT :most
),
tree AS MATERIALIZED (
    SELECT id AS root_id, id AS job_id FROM page WHERE old
    UNION ALL
    SELECT link.root_id, link.job_id FROM main.link WHERE link.root_id IN (SELECT id FROM page WHERE old)
),
member AS MATERIALIZED (
    SELECT root_id, job_id AS id FROM tree
    UNION ALL
    SELECT tree.root_id, task.id FROM tree CROSS JOIN main.task ON task.job_id = tree.job_id
    WHERE task.parent_id IS NOT NULL
),
size AS MATERIALIZED (SELECT root_id, count(*) AS tasks FROM member GROUP BY root_id),
ended AS MATERIALIZED (
    SELECT tree.root_id, coalesce((
            SELECT outcome.finished_at FROM main.outcome WHERE outcome.task_id = tree.job_id), clock.now)
            >= clock.now - :age AS young,
        EXISTS (SELECT 1 FROM main.effect
            WHERE effect.job_id = tree.job_id AND effect.result IS NULL AND effect.failure IS NULL) AS doubtful
    FROM tree CROSS JOIN clock
),
busy AS MATERIALIZED (
    SELECT member.root_id FROM member
    WHERE EXISTS (SELECT 1 FROM main.waiting WHERE waiting.task_id = member.id)
       OR EXISTS (SELECT 1 FROM main.ready WHERE ready.task_id = member.id)
       OR EXISTS (SELECT 1 FROM main.lease WHERE lease.task_id = member.id)
       OR EXISTS (SELECT 1 FROM main.unsettled WHERE unsettled.task_id = member.id)
       OR EXISTS (SELECT 1 FROM main.dead_letter
           WHERE dead_letter.task_id = member.id AND dead_letter.state <> 'resolved')
       OR EXISTS (SELECT 1 FROM main.delivery WHERE delivery.task_id = member.id
            AND (delivery.status <> 'sent' OR delivery.notified_at IS NULL OR delivery.notification_id IS NULL))
)
SELECT page.id, page.old, (SELECT count(*) FROM tree WHERE tree.root_id = page.id) AS jobs,
    coalesce(size.tasks, 0) AS tasks,
    coalesce(page.old
        AND page.id NOT IN (SELECT root_id FROM ended WHERE young OR doubtful)
        AND page.id NOT IN (SELECT root_id FROM busy), 0) AS prunable
FROM page LEFT JOIN size ON size.root_id = page.id ORDER BY page.id
