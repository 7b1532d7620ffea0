-- remaining: Count what is left to do for these routes: ready, running, due later, and ends not looked at.
SELECT
    (SELECT count(*) FROM main.ready WHERE route IN (SELECT value FROM json_each(:routes))
        AND queue IN (SELECT value FROM json_each(:queues))
        AND NOT EXISTS (SELECT 1 FROM main.queue WHERE queue.name = ready.queue AND queue.paused)) AS ready,
    (SELECT count(*) FROM main.lease JOIN main.task ON task.id = lease.task_id
        WHERE CASE WHEN task.stage IS NULL THEN task.kind ELSE task.kind || '/' || task.stage END IN (SELECT value FROM json_each(:routes))
    ) AS running,
    (SELECT count(*) FROM main.waiting JOIN main.task ON task.id = waiting.task_id
        WHERE waiting.due_at IS NOT NULL AND task.queue IN (SELECT value FROM json_each(:queues))
        AND CASE WHEN task.stage IS NULL THEN task.kind ELSE task.kind || '/' || task.stage END IN (SELECT value FROM json_each(:routes))
    ) AS due,
    (SELECT count(*) FROM main.unsettled) AS unsettled
