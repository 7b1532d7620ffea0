-- free_slots: Lock free slots of a limited queue and return how long each must rest.
-- Slots above a lowered limit count as long as their tasks run.
WITH top AS MATERIALIZED (
    SELECT coalesce(%(ceiling)s::integer, (
        SELECT capacity FROM leasehold.queue WHERE name IN (%(queue)s, %(family)s) AND capacity IS NOT NULL
        ORDER BY name = %(queue)s DESC LIMIT 1)) AS number
)
SELECT slot.number, greatest(slot.free_at - leasehold.leasehold_now(), 0) AS wait_us FROM leasehold.slot, top
WHERE slot.queue = %(queue)s AND slot.task_id IS NULL AND slot.number <= top.number
  AND (NOT EXISTS (
        SELECT 1 FROM leasehold.slot AS excess
        WHERE excess.queue = %(queue)s AND excess.task_id IS NOT NULL AND excess.number > (SELECT number FROM top))
    OR slot.number + (
        SELECT count(*) FROM leasehold.slot AS above
        WHERE above.queue = %(queue)s AND above.task_id IS NOT NULL AND above.number > slot.number) <= top.number)
ORDER BY slot.free_at > leasehold.leasehold_now(), slot.number LIMIT %(most)s::integer FOR UPDATE OF slot SKIP LOCKED
