-- make_due: Move waiting tasks whose time has come to ready; one that lost its worker goes back to its old place.
-- Differs from PostgreSQL: a scratch table carries the rows from step to step, since no CTE may write here.
INSERT INTO temp.leasehold_moved (task_id, attempt, fence, epoch, losses, position, mark)
SELECT waiting.task_id, waiting.attempt, waiting.fence, waiting.epoch, waiting.losses, waiting.position,
    leasehold_link(waiting.mark, leasehold_now(), 'advanced', NULL, NULL, NULL, NULL)
FROM main.waiting WHERE waiting.due_at <= leasehold_now() ORDER BY waiting.due_at, waiting.task_id LIMIT :most;

DELETE FROM main.waiting WHERE task_id IN (SELECT task_id FROM temp.leasehold_moved);

INSERT INTO main.ready (position, task_id, queue, priority, route, attempt, fence, epoch, losses, mark)
SELECT moved.position, moved.task_id, task.queue, task.priority, CASE WHEN moved.losses > 1 THEN '!' ELSE '' END
    || CASE WHEN task.stage IS NULL THEN task.kind ELSE task.kind || '/' || task.stage END,
    moved.attempt, moved.fence, moved.epoch, moved.losses, moved.mark
FROM temp.leasehold_moved AS moved JOIN main.task ON task.id = moved.task_id ORDER BY moved.number;

INSERT INTO main.event (task_id, at, name, mark) SELECT task_id, leasehold_now(), 'advanced', mark
FROM temp.leasehold_moved ORDER BY number;

SELECT moved.task_id, task.queue FROM temp.leasehold_moved AS moved JOIN main.task ON task.id = moved.task_id
ORDER BY moved.number;

DELETE FROM temp.leasehold_moved;
