-- make_ready: Move waiting tasks whose prerequisites are all done to ready.
WITH clock AS MATERIALIZED (SELECT leasehold.leasehold_now() AS now),
moved AS (
    DELETE FROM leasehold.waiting
    WHERE task_id = ANY(ARRAY(SELECT value::bigint FROM jsonb_array_elements_text(%(tasks)s::jsonb)))
    RETURNING task_id, attempt, fence, epoch
),
placed AS (
    INSERT INTO leasehold.ready (task_id, queue, priority, route, attempt, fence, epoch)
    SELECT moved.task_id, task.queue, task.priority,
        CASE WHEN task.stage IS NULL THEN task.kind ELSE task.kind || '/' || task.stage END,
        moved.attempt, moved.fence, moved.epoch
    FROM moved JOIN leasehold.task ON task.id = moved.task_id ORDER BY moved.task_id
    RETURNING task_id, queue
),
logged AS (
    INSERT INTO leasehold.event (task_id, at, name) SELECT task_id, clock.now, 'advanced' FROM moved, clock
)
SELECT task_id, queue FROM placed
