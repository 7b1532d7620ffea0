-- conclude: End waiting tasks that will not run: those whose parts have all ended, and those that can no longer run.
-- Differs from PostgreSQL: a scratch table carries the rows from step to step, since no CTE may write here.
INSERT INTO temp.leasehold_moved (task_id, epoch, fence, status, failure)
SELECT waiting.task_id, waiting.epoch, waiting.fence, item.value ->> 'status', item.value ->> 'failure'
FROM json_each(:ends) AS item JOIN main.waiting ON waiting.task_id = item.value ->> 'task_id';

DELETE FROM main.waiting WHERE task_id IN (SELECT task_id FROM temp.leasehold_moved);

INSERT INTO main.outcome (task_id, epoch, fence, status, failure, finished_at)
SELECT task_id, epoch, fence, status, failure, leasehold_now() FROM temp.leasehold_moved;

INSERT INTO main.unsettled (task_id)
SELECT moved.task_id FROM temp.leasehold_moved AS moved JOIN main.task ON task.id = moved.task_id WHERE task.parent_id IS NOT NULL;

INSERT INTO main.event (task_id, at, name, detail)
SELECT task_id, leasehold_now(), CASE status WHEN 'DONE' THEN 'done' WHEN 'ERROR' THEN 'failed' ELSE 'cancelled' END, failure
FROM temp.leasehold_moved ORDER BY number;

SELECT task_id, status FROM temp.leasehold_moved ORDER BY number;

DELETE FROM temp.leasehold_moved;
