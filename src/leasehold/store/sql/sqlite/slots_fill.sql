-- slots_fill: Give reserved slots to the tasks just claimed.
UPDATE main.slot SET task_id = item.value ->> 'task_id'
FROM json_each(:slots) AS item
WHERE slot.queue = :queue AND slot.number = item.value ->> 'number' AND slot.task_id IS NULL
RETURNING slot.number
