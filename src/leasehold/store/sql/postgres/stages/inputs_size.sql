-- inputs_size: Add up how many bytes the inputs of a task have.
WITH source AS MATERIALIZED (
    SELECT need.on_task_id FROM leasehold.task
    JOIN leasehold.need ON need.task_id = CASE WHEN task.segment IS NULL THEN task.id ELSE task.parent_id END
    WHERE task.id = %(task)s::bigint
),
part AS MATERIALIZED (
    SELECT on_task_id AS task_id FROM source
    UNION ALL
    SELECT task.id FROM source JOIN leasehold.task ON task.parent_id = source.on_task_id
)
SELECT coalesce(sum(octet_length(outcome.output)), 0)::bigint AS bytes
FROM part JOIN leasehold.outcome ON outcome.task_id = part.task_id
