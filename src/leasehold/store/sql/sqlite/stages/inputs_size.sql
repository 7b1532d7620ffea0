-- inputs_size: Add up how many bytes the inputs of a task have.
WITH source AS MATERIALIZED (
    SELECT need.on_task_id FROM main.task
    JOIN main.need ON need.task_id = CASE WHEN task.segment IS NULL THEN task.id ELSE task.parent_id END
    WHERE task.id = :task
),
part AS MATERIALIZED (
    SELECT on_task_id AS task_id FROM source
    UNION ALL
    SELECT task.id FROM source JOIN main.task ON task.parent_id = source.on_task_id
)
SELECT coalesce(sum(length(CAST(outcome.output AS BLOB))), 0) AS bytes
FROM part CROSS JOIN main.outcome ON outcome.task_id = part.task_id
