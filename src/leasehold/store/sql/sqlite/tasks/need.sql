-- need: Record which tasks wait for which.
INSERT INTO main.need (task_id, on_task_id, number)
SELECT item.value ->> 'task_id', item.value ->> 'on_task_id', item.value ->> 'number' FROM json_each(:needs) AS item
