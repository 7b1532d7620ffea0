-- cancel: End a job's waiting and ready tasks, and ask its running ones to stop.
WITH clock AS MATERIALIZED (SELECT leasehold.leasehold_now() AS now),
member AS MATERIALIZED (
    SELECT id FROM leasehold.task WHERE id = %(job)s::bigint AND parent_id IS NULL
    UNION ALL
    SELECT id FROM leasehold.task WHERE job_id = %(job)s::bigint AND parent_id IS NOT NULL
),
unwaited AS (
    DELETE FROM leasehold.waiting WHERE task_id = ANY(ARRAY(SELECT id FROM member ORDER BY id))
    RETURNING task_id, epoch, fence
),
unready AS (
    DELETE FROM leasehold.ready WHERE task_id = ANY(ARRAY(SELECT id FROM member ORDER BY id))
    RETURNING task_id, epoch, fence
),
asked AS (
    UPDATE leasehold.lease SET cancel_reason = %(reason)s::text
    WHERE task_id = ANY(ARRAY(SELECT id FROM member ORDER BY id)) AND cancel_reason IS NULL
    RETURNING task_id, fence, attempt, worker
),
gone AS MATERIALIZED (SELECT * FROM unwaited UNION ALL SELECT * FROM unready),
recorded AS (
    INSERT INTO leasehold.outcome (task_id, epoch, fence, status, failure, finished_at)
    SELECT task_id, epoch, fence, 'CANCELLED', %(reason)s::text, clock.now FROM gone, clock
),
logged AS (
    INSERT INTO leasehold.event (task_id, at, name, fence, attempt, worker, detail)
    SELECT task_id, clock.now, 'cancelled', NULL, NULL, NULL, %(reason)s::text FROM gone, clock
    UNION ALL
    SELECT task_id, clock.now, 'asked', fence, attempt, worker, %(reason)s::text FROM asked, clock
)
SELECT (SELECT count(*) FROM gone) AS ended, (SELECT count(*) FROM asked) AS asked
