-- make_due: Move waiting tasks whose time has come to ready; one that lost its worker goes back to its old place.
WITH clock AS MATERIALIZED (SELECT leasehold.leasehold_now() AS now),
chosen AS MATERIALIZED (
    SELECT waiting.task_id FROM leasehold.waiting, clock
    WHERE waiting.due_at <= clock.now ORDER BY waiting.due_at, waiting.task_id
    LIMIT %(most)s::integer FOR UPDATE OF waiting SKIP LOCKED
),
moved AS (
    DELETE FROM leasehold.waiting WHERE task_id = ANY(ARRAY(SELECT task_id FROM chosen))
    RETURNING task_id, due_at, attempt, fence, epoch, losses, position, mark
),
linked AS MATERIALIZED (
    SELECT moved.*, clock.now, leasehold.chain_link(mark, clock.now, 'advanced', NULL, NULL, NULL, NULL) AS link
    FROM moved, clock
),
placed AS (
    INSERT INTO leasehold.ready (position, task_id, queue, priority, route, attempt, fence, epoch, losses, mark)
    OVERRIDING SYSTEM VALUE
    SELECT coalesce(position, nextval(pg_get_serial_sequence('leasehold.ready', 'position'))), task_id, queue, priority,
        route, attempt, fence, epoch, losses, link
    FROM (
        SELECT linked.*, task.queue, task.priority, CASE WHEN linked.losses > 1 THEN '!' ELSE '' END
            || CASE WHEN task.stage IS NULL THEN task.kind ELSE task.kind || '/' || task.stage END AS route
        FROM linked JOIN leasehold.task ON task.id = linked.task_id ORDER BY linked.due_at, linked.task_id OFFSET 0
    ) AS in_order
    RETURNING task_id, queue
),
logged AS (
    INSERT INTO leasehold.event (task_id, at, name, mark) SELECT task_id, now, 'advanced', link FROM linked
)
SELECT task_id, queue FROM placed
