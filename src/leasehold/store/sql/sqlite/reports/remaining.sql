-- remaining: Count what is left to do for these routes: ready, running, due later, and ends not looked at.
SELECT
    (SELECT count(*) FROM main.ready WHERE ltrim(route, '!') IN (SELECT value FROM json_each(:routes))
        AND substr(queue, 1, instr(queue || '/', '/') - 1) IN (SELECT value FROM json_each(:queues))
        AND NOT EXISTS (SELECT 1 FROM main.queue WHERE queue.paused AND queue.name IN (
            ready.queue, substr(ready.queue, 1, instr(ready.queue || '/', '/') - 1),
            substr(ready.queue, 1, instr(ready.queue || '/', '/') - 1) || '/*'))) AS ready,
    (SELECT count(*) FROM main.lease JOIN main.task ON task.id = lease.task_id
        WHERE CASE WHEN task.stage IS NULL THEN task.kind ELSE task.kind || '/'
            || task.stage END IN (SELECT value FROM json_each(:routes))
    ) AS running,
    (SELECT count(*) FROM main.waiting JOIN main.task ON task.id = waiting.task_id
        WHERE waiting.due_at IS NOT NULL
            AND substr(task.queue, 1, instr(task.queue || '/', '/') - 1) IN (SELECT value FROM json_each(:queues))
        AND CASE WHEN task.stage IS NULL THEN task.kind ELSE task.kind || '/'
            || task.stage END IN (SELECT value FROM json_each(:routes))
    ) AS due,
    (SELECT count(*) FROM main.unsettled) AS unsettled
