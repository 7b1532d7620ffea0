-- cancel: End the waiting and ready tasks of a job and of all jobs below it, and ask their running ones to stop.
WITH RECURSIVE clock AS MATERIALIZED (SELECT leasehold.leasehold_now() AS now),
tree AS (
    SELECT id AS job_id FROM leasehold.task WHERE id = %(job)s::bigint AND parent_id IS NULL
    UNION ALL
    SELECT child.job_id FROM tree CROSS JOIN LATERAL (
        SELECT link.job_id FROM leasehold.link WHERE link.parent_job_id = tree.job_id OFFSET 0
    ) AS child
),
member AS MATERIALIZED (
    SELECT job_id AS id FROM tree
    UNION ALL
    SELECT id FROM leasehold.task WHERE job_id = ANY(ARRAY(SELECT job_id FROM tree)) AND parent_id IS NOT NULL
),
unwaited AS (
    DELETE FROM leasehold.waiting WHERE task_id = ANY(ARRAY(SELECT id FROM member ORDER BY id))
    RETURNING task_id, epoch, fence, mark
),
unready AS (
    DELETE FROM leasehold.ready WHERE task_id = ANY(ARRAY(SELECT id FROM member ORDER BY id))
    RETURNING task_id, epoch, fence, mark
),
asked AS (
    UPDATE leasehold.lease SET cancel_reason = %(reason)s::text,
        mark = leasehold.chain_link(mark, clock.now, 'asked', fence, attempt, worker, %(reason)s::text)
    FROM clock WHERE task_id = ANY(ARRAY(SELECT id FROM member ORDER BY id)) AND cancel_reason IS NULL
    RETURNING task_id, fence, attempt, worker, mark
),
gone AS MATERIALIZED (
    SELECT place.task_id, place.epoch, place.fence, clock.now,
        leasehold.chain_link(place.mark, clock.now, 'cancelled', NULL, NULL, NULL, %(reason)s::text) AS mark
    FROM (SELECT * FROM unwaited UNION ALL SELECT * FROM unready) AS place, clock
),
recorded AS (
    INSERT INTO leasehold.outcome (task_id, epoch, fence, status, failure, finished_at, mark)
    SELECT task_id, epoch, fence, 'CANCELLED', %(reason)s::text, now, mark FROM gone
),
logged AS (
    INSERT INTO leasehold.event (task_id, at, name, fence, attempt, worker, detail, mark)
    SELECT task_id, now, 'cancelled', NULL, NULL, NULL, %(reason)s::text, mark FROM gone
    UNION ALL
    SELECT task_id, clock.now, 'asked', fence, attempt, worker, %(reason)s::text, mark FROM asked, clock
)
SELECT (SELECT count(*) FROM gone) AS ended, (SELECT count(*) FROM asked) AS asked
