-- conclude: End waiting tasks that will not run: those whose parts have all ended, and those that can no longer run.
-- Differs from PostgreSQL: a scratch table carries the rows from step to step, since no CTE may write here.
INSERT INTO temp.moved (task_id, epoch, fence, status, failure)
SELECT waiting.task_id, waiting.epoch, waiting.fence, item.value ->> 'status', item.value ->> 'failure'
FROM json_each(:ends) AS item JOIN waiting ON waiting.task_id = item.value ->> 'task_id';

DELETE FROM waiting WHERE task_id IN (SELECT task_id FROM temp.moved);

INSERT INTO outcome (task_id, epoch, fence, status, failure, finished_at)
SELECT task_id, epoch, fence, status, failure, leasehold_now() FROM temp.moved;

INSERT INTO unsettled (task_id)
SELECT moved.task_id FROM temp.moved AS moved JOIN task ON task.id = moved.task_id WHERE task.parent_id IS NOT NULL;

INSERT INTO event (task_id, at, name, detail)
SELECT task_id, leasehold_now(), CASE status WHEN 'DONE' THEN 'done' WHEN 'ERROR' THEN 'failed' ELSE 'cancelled' END, failure
FROM temp.moved ORDER BY number;

SELECT task_id, status FROM temp.moved ORDER BY number;

DELETE FROM temp.moved;
