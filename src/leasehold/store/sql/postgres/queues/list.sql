-- list: List the queues that hold work or have been set, with what stands in them.
WITH name AS (
    SELECT name FROM leasehold.queue
    UNION SELECT queue FROM leasehold.ready
    UNION SELECT task.queue FROM leasehold.lease JOIN leasehold.task ON task.id = lease.task_id
    UNION SELECT task.queue FROM leasehold.waiting JOIN leasehold.task ON task.id = waiting.task_id
)
SELECT name.name, coalesce(queue.paused, false) AS paused, queue.capacity,
    (SELECT count(*) FROM leasehold.waiting JOIN leasehold.task ON task.id = waiting.task_id
        WHERE task.queue = name.name AND (task.parent_id IS NOT NULL OR waiting.due_at IS NOT NULL)) AS waiting,
    (SELECT count(*) FROM leasehold.ready WHERE ready.queue = name.name) AS ready,
    (SELECT count(*) FROM leasehold.lease JOIN leasehold.task ON task.id = lease.task_id
        WHERE task.queue = name.name) AS running, queue.pace_us
FROM name LEFT JOIN leasehold.queue ON queue.name = name.name
ORDER BY name.name
