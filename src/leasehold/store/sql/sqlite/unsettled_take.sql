-- unsettled_take: Take a batch of settled tasks that nobody has looked at yet.
-- Differs from PostgreSQL: a scratch table carries the rows from step to step, since no CTE may write here.
INSERT INTO temp.moved (task_id) SELECT task_id FROM unsettled ORDER BY task_id LIMIT :most;

DELETE FROM unsettled WHERE task_id IN (SELECT task_id FROM temp.moved);

SELECT moved.task_id, task.stage, outcome.status
FROM temp.moved AS moved JOIN task ON task.id = moved.task_id
JOIN outcome ON outcome.task_id = moved.task_id
WHERE outcome.epoch = (SELECT max(epoch) FROM outcome AS newest WHERE newest.task_id = moved.task_id)
ORDER BY moved.task_id;

DELETE FROM temp.moved;
