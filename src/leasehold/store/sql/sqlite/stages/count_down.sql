-- count_down: Note how many tasks each of these still waits for.
UPDATE main.waiting SET unmet = item.value ->> 'unmet'
FROM json_each(:counts) AS item
WHERE waiting.task_id = item.value ->> 'task_id'
RETURNING waiting.task_id
