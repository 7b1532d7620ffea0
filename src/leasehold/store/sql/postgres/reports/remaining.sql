-- remaining: Count what is left to do for these routes: ready, running, due later, and ends not looked at.
SELECT
    (SELECT count(*) FROM leasehold.ready
        WHERE ltrim(route, '!') = ANY(ARRAY(SELECT jsonb_array_elements_text(%(routes)s::jsonb)))
        AND split_part(queue, '/', 1) = ANY(ARRAY(SELECT jsonb_array_elements_text(%(queues)s::jsonb)))
        AND NOT EXISTS (SELECT 1 FROM leasehold.queue WHERE queue.paused AND queue.name IN (
            ready.queue, split_part(ready.queue, '/', 1), split_part(ready.queue, '/', 1) || '/*'))) AS ready,
    (SELECT count(*) FROM leasehold.lease JOIN leasehold.task ON task.id = lease.task_id
        WHERE CASE WHEN task.stage IS NULL THEN task.kind ELSE task.kind || '/'
            || task.stage END = ANY(ARRAY(SELECT jsonb_array_elements_text(%(routes)s::jsonb)))
    ) AS running,
    (SELECT count(*) FROM leasehold.waiting JOIN leasehold.task ON task.id = waiting.task_id
        WHERE waiting.due_at IS NOT NULL
            AND split_part(task.queue, '/', 1) = ANY(ARRAY(SELECT jsonb_array_elements_text(%(queues)s::jsonb)))
        AND CASE WHEN task.stage IS NULL THEN task.kind ELSE task.kind || '/'
            || task.stage END = ANY(ARRAY(SELECT jsonb_array_elements_text(%(routes)s::jsonb)))
    ) AS due,
    (SELECT count(*) FROM leasehold.unsettled) AS unsettled
