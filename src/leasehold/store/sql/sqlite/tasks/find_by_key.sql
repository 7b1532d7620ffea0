-- find_by_key: Read the jobs that have these kinds and keys.
SELECT task.id, task.kind, task.key, task.payload
FROM json_each(:keys) AS item
JOIN main.task ON task.kind = item.value ->> 'kind' AND task.key = item.value ->> 'key' AND task.parent_id IS NULL
