-- need: Record which tasks wait for which.
INSERT INTO leasehold.need (task_id, on_task_id, number)
SELECT task_id, on_task_id, number
FROM jsonb_to_recordset(%(needs)s::jsonb) AS item (task_id bigint, on_task_id bigint, number smallint)
