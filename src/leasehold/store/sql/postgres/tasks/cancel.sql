-- cancel: End a job's waiting and ready tasks, and ask its running ones to stop.
WITH clock AS MATERIALIZED (SELECT leasehold.leasehold_now() AS now),
member AS MATERIALIZED (
    SELECT id FROM leasehold.task WHERE id = %(job)s::bigint AND parent_id IS NULL
    UNION ALL
    SELECT id FROM leasehold.task WHERE job_id = %(job)s::bigint AND parent_id IS NOT NULL
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
