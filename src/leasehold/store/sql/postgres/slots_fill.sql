-- slots_fill: Give reserved slots to the tasks just claimed.
UPDATE leasehold.slot SET task_id = item.task_id
FROM jsonb_to_recordset(%(slots)s::jsonb) AS item (number integer, task_id bigint)
WHERE slot.queue = %(queue)s AND slot.number = item.number AND slot.task_id IS NULL
RETURNING slot.number
