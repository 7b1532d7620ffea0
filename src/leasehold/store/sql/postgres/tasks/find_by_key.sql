-- find_by_key: Read the jobs that have these kinds and keys.
SELECT task.id, task.kind, task.key, task.payload
FROM jsonb_to_recordset(%(keys)s::jsonb) AS item (kind text, key text)
JOIN leasehold.task ON task.kind = item.kind AND task.key = item.key AND task.parent_id IS NULL
