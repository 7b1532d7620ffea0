-- count_down: Note how many tasks each of these still waits for.
UPDATE leasehold.waiting SET unmet = item.unmet
FROM jsonb_to_recordset(%(counts)s::jsonb) AS item (task_id bigint, unmet integer)
WHERE waiting.task_id = item.task_id
RETURNING waiting.task_id
