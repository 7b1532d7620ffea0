-- queues: Read what was set for queues: which pause and which limit apply, how many slots are held, which is free next.
WITH item AS MATERIALIZED (
    SELECT value ->> 'name' AS name, value ->> 'base' AS base, value ->> 'family' AS family FROM json_each(:queues)
)
SELECT item.name,
    (SELECT min(queue.name) FROM main.queue
        WHERE queue.paused AND queue.name IN (item.name, item.base, item.family)) AS paused_by,
    own.name AS limited_by, own.capacity, own.pace_us,
    (SELECT count(*) FROM main.slot WHERE slot.queue = item.name AND slot.task_id IS NOT NULL) AS held,
    (SELECT min(slot.free_at) FROM main.slot
        WHERE slot.queue = item.name AND slot.task_id IS NULL AND slot.number <= own.capacity) AS free_at
FROM item LEFT JOIN main.queue AS own ON own.name = coalesce(
    (SELECT queue.name FROM main.queue WHERE queue.name = item.name AND capacity IS NOT NULL),
    (SELECT queue.name FROM main.queue WHERE queue.name = item.family AND capacity IS NOT NULL))
