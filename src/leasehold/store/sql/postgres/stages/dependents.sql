-- dependents: Lock and list the waiting tasks that these settled tasks concern, as prerequisites or as parts.
WITH settled AS MATERIALIZED (
    SELECT value::bigint AS task_id FROM jsonb_array_elements_text(%(tasks)s::jsonb)
),
concern AS MATERIALIZED (
    SELECT need.task_id, settled.task_id AS on_task_id, false AS is_part
    FROM settled JOIN leasehold.need ON need.on_task_id = settled.task_id
    UNION ALL
    SELECT task.parent_id, settled.task_id, true
    FROM settled JOIN leasehold.task ON task.id = settled.task_id
    WHERE task.parent_id IS NOT NULL
),
locked AS MATERIALIZED (
    SELECT waiting.task_id, waiting.unmet FROM leasehold.waiting
    WHERE waiting.task_id = ANY(ARRAY(SELECT task_id FROM concern))
    ORDER BY waiting.task_id FOR UPDATE
)
SELECT locked.task_id, concern.on_task_id, concern.is_part, locked.unmet, task.each_field
FROM locked JOIN concern ON concern.task_id = locked.task_id
JOIN leasehold.task ON task.id = locked.task_id
ORDER BY locked.task_id, concern.on_task_id
