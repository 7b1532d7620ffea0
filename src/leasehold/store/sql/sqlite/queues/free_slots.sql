-- free_slots: Lock free slots of a limited queue and return how long each must rest.
-- Slots above a lowered limit count as long as their tasks run.
WITH top AS MATERIALIZED (
    SELECT coalesce(:ceiling, (
        SELECT capacity FROM main.queue WHERE name IN (:queue, :family) AND capacity IS NOT NULL
        ORDER BY name = :queue DESC LIMIT 1)) AS number
)
SELECT slot.number, max(slot.free_at - leasehold_now(), 0) AS wait_us FROM main.slot, top
WHERE slot.queue = :queue AND slot.task_id IS NULL AND slot.number <= top.number
  AND (NOT EXISTS (
        SELECT 1 FROM main.slot AS excess
        WHERE excess.queue = :queue AND excess.task_id IS NOT NULL AND excess.number > (SELECT number FROM top))
    OR slot.number + (
        SELECT count(*) FROM main.slot AS above
        WHERE above.queue = :queue AND above.task_id IS NOT NULL AND above.number > slot.number) <= top.number)
ORDER BY slot.free_at > leasehold_now(), slot.number LIMIT :most
