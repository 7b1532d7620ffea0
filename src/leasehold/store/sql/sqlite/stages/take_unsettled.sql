-- take_unsettled: Take a batch of settled tasks that nobody has looked at yet.
-- Differs from PostgreSQL: a scratch table carries the rows from step to step, since no CTE may write here.
INSERT INTO temp.leasehold_moved (task_id) SELECT task_id FROM main.unsettled ORDER BY task_id LIMIT :most;

DELETE FROM main.unsettled WHERE task_id IN (SELECT task_id FROM temp.leasehold_moved);

SELECT moved.task_id, task.stage, outcome.status
FROM temp.leasehold_moved AS moved JOIN main.task ON task.id = moved.task_id
JOIN main.outcome ON outcome.task_id = moved.task_id
WHERE outcome.epoch = (SELECT max(epoch) FROM main.outcome AS newest WHERE newest.task_id = moved.task_id)
ORDER BY moved.task_id;

DELETE FROM temp.leasehold_moved;
