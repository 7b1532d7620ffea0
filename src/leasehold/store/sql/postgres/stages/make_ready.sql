-- make_ready: Move waiting tasks whose prerequisites are all done to ready.
WITH clock AS MATERIALIZED (SELECT leasehold.leasehold_now() AS now),
moved AS (
    DELETE FROM leasehold.waiting
    WHERE task_id = ANY(ARRAY(SELECT value::bigint FROM jsonb_array_elements_text(%(tasks)s::jsonb)))
    RETURNING task_id, attempt, fence, epoch, mark
),
linked AS MATERIALIZED (
    SELECT moved.*, clock.now, leasehold.chain_link(mark, clock.now, 'advanced', NULL, NULL, NULL, NULL) AS link
    FROM moved, clock
),
placed AS (
    INSERT INTO leasehold.ready (task_id, queue, priority, route, attempt, fence, epoch, mark)
    SELECT linked.task_id, task.queue, task.priority,
        CASE WHEN task.stage IS NULL THEN task.kind ELSE task.kind || '/' || task.stage END,
        linked.attempt, linked.fence, linked.epoch, linked.link
    FROM linked JOIN leasehold.task ON task.id = linked.task_id ORDER BY linked.task_id
    RETURNING task_id, queue
),
logged AS (
    INSERT INTO leasehold.event (task_id, at, name, mark) SELECT task_id, now, 'advanced', link FROM linked
)
SELECT task_id, queue FROM placed
