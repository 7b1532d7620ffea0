-- fill_slots: Give reserved slots to the tasks just claimed; where the limit has a pace, each rests after it.
UPDATE main.slot SET task_id = item.value ->> 'task_id', free_at = leasehold_now() + coalesce((
    SELECT capacity * pace_us FROM main.queue WHERE name IN (:queue, :family) AND capacity IS NOT NULL
    ORDER BY name = :queue DESC LIMIT 1), 0)
FROM json_each(:slots) AS item
WHERE slot.queue = :queue AND slot.number = item.value ->> 'number' AND slot.task_id IS NULL
RETURNING slot.number
