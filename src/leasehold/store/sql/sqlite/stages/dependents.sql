-- dependents: Lock and list the waiting tasks that these settled tasks concern, as prerequisites or as parts.
WITH concern AS MATERIALIZED (
    SELECT need.task_id, settled.value AS on_task_id, 0 AS is_part
    FROM json_each(:tasks) AS settled JOIN main.need ON need.on_task_id = settled.value
    UNION ALL
    SELECT task.parent_id, settled.value, 1
    FROM json_each(:tasks) AS settled JOIN main.task ON task.id = settled.value
    WHERE task.parent_id IS NOT NULL
)
SELECT waiting.task_id, concern.on_task_id, concern.is_part, waiting.unmet, task.each_field
FROM concern JOIN main.waiting ON waiting.task_id = concern.task_id
JOIN main.task ON task.id = waiting.task_id
ORDER BY waiting.task_id, concern.on_task_id
