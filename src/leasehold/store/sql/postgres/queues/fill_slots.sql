-- fill_slots: Give reserved slots to the tasks just claimed; where the limit has a pace, each rests after it.
UPDATE leasehold.slot SET task_id = item.task_id, free_at = leasehold.leasehold_now() + coalesce((
    SELECT capacity * pace_us FROM leasehold.queue WHERE name IN (%(queue)s, %(family)s) AND capacity IS NOT NULL
    ORDER BY name = %(queue)s DESC LIMIT 1), 0)
FROM jsonb_to_recordset(%(slots)s::jsonb) AS item (number integer, task_id bigint)
WHERE slot.queue = %(queue)s AND slot.number = item.number AND slot.task_id IS NULL
RETURNING slot.number
