-- slots_free: Reserve free slots of a limited queue for this transaction; none while a lowered limit is still exceeded.
WITH top AS MATERIALIZED (
    SELECT coalesce(:ceiling, (SELECT capacity FROM queue WHERE name = :queue)) AS number
)
SELECT slot.number FROM slot, top
WHERE slot.queue = :queue AND slot.task_id IS NULL AND slot.number <= top.number
  AND NOT EXISTS (
    SELECT 1 FROM slot AS excess
    WHERE excess.queue = :queue AND excess.task_id IS NOT NULL AND excess.number > top.number)
ORDER BY slot.number LIMIT :most
