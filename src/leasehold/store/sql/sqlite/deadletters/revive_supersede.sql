-- revive_supersede: Take the segments of a job that starts over out of their place; their outcomes are kept as history.
-- Differs from PostgreSQL: a scratch table carries the rows from step to step, since no CTE may write here.
INSERT INTO temp.leasehold_revived (task_id, epoch, fence, mark)
SELECT outcome.task_id, outcome.epoch, outcome.fence,
    leasehold_link(outcome.mark, leasehold_now(), 'superseded', outcome.fence, NULL, NULL, :detail)
FROM main.task JOIN main.outcome ON outcome.task_id = task.id
WHERE task.job_id = :job AND task.parent_id IS NOT NULL AND task.segment IS NOT NULL ORDER BY task.id;

INSERT INTO main.outcome_past (task_id, epoch, fence, status, output, failure, finished_at, mark)
SELECT outcome.task_id, outcome.epoch, outcome.fence, outcome.status, outcome.output, outcome.failure,
    outcome.finished_at,
    outcome.mark
FROM main.outcome WHERE outcome.task_id IN (SELECT task_id FROM temp.leasehold_revived);

DELETE FROM main.outcome WHERE task_id IN (SELECT task_id FROM temp.leasehold_revived);

UPDATE main.dead_letter SET state = 'revived'
WHERE task_id IN (SELECT task_id FROM temp.leasehold_revived) AND state = 'open';

DELETE FROM main.unsettled WHERE task_id IN (SELECT task_id FROM temp.leasehold_revived);

INSERT INTO main.event (task_id, at, name, fence, detail, mark)
SELECT task_id, leasehold_now(), 'superseded', fence, :detail, mark
FROM temp.leasehold_revived ORDER BY task_id;

SELECT count(*) AS segments FROM temp.leasehold_revived;

DELETE FROM temp.leasehold_revived;
