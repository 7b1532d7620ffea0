-- revive_supersede: Take the segments of a job that starts over out of their place; their outcomes are kept as history.
WITH clock AS MATERIALIZED (SELECT leasehold.leasehold_now() AS now),
moved AS (
    DELETE FROM leasehold.outcome USING leasehold.task
    WHERE task.job_id = %(job)s::bigint AND task.parent_id IS NOT NULL AND task.segment IS NOT NULL
      AND outcome.task_id = task.id
    RETURNING outcome.task_id, outcome.epoch, outcome.fence, outcome.status, outcome.output, outcome.failure,
        outcome.finished_at,
        outcome.mark
),
kept AS (
    INSERT INTO leasehold.outcome_past (task_id, epoch, fence, status, output, failure, finished_at, mark)
    SELECT task_id, epoch, fence, status, output, failure, finished_at, mark FROM moved
),
lettered AS (
    UPDATE leasehold.dead_letter SET state = 'revived' FROM moved
    WHERE dead_letter.task_id = moved.task_id AND dead_letter.state = 'open'
),
overlooked AS (
    DELETE FROM leasehold.unsettled WHERE task_id = ANY(ARRAY(SELECT task_id FROM moved))
),
logged AS (
    INSERT INTO leasehold.event (task_id, at, name, fence, detail, mark)
    SELECT task_id, clock.now, 'superseded', fence, %(detail)s::text,
        leasehold.chain_link(mark, clock.now, 'superseded', fence, NULL, NULL, %(detail)s::text)
    FROM moved, clock ORDER BY task_id
)
SELECT count(*) AS segments FROM moved
