-- slots_free: Reserve free slots of a limited queue for this transaction; none while a lowered limit is still exceeded.
WITH top AS MATERIALIZED (
    SELECT coalesce(%(ceiling)s::integer, (SELECT capacity FROM leasehold.queue WHERE name = %(queue)s)) AS number
)
SELECT slot.number FROM leasehold.slot, top
WHERE slot.queue = %(queue)s AND slot.task_id IS NULL AND slot.number <= top.number
  AND NOT EXISTS (
    SELECT 1 FROM leasehold.slot AS excess
    WHERE excess.queue = %(queue)s AND excess.task_id IS NOT NULL AND excess.number > top.number)
ORDER BY slot.number LIMIT %(most)s::integer FOR UPDATE OF slot SKIP LOCKED
