-- inputs: Read the outputs of the stages a task waited for, segments in their order.
-- Differs from SQLite: here an index serves only one side of an OR, so the two are taken one after the other.
WITH source AS MATERIALIZED (
    SELECT need.on_task_id, need.number FROM leasehold.task
    JOIN leasehold.need ON need.task_id = CASE WHEN task.segment IS NULL THEN task.id ELSE task.parent_id END
    WHERE task.id = %(task)s::bigint
)
SELECT stage.stage, part.segment, outcome.output, stage.each_field IS NOT NULL AS fanned
FROM source JOIN leasehold.task AS stage ON stage.id = source.on_task_id
LEFT JOIN LATERAL (
    SELECT stage.id, NULL::integer AS segment WHERE stage.each_field IS NULL
    UNION ALL
    SELECT task.id, task.segment FROM leasehold.task WHERE stage.each_field IS NOT NULL AND task.parent_id = stage.id
        -- those of an earlier fan-out have none
        AND EXISTS (SELECT 1 FROM leasehold.outcome WHERE outcome.task_id = task.id)
) AS part ON true
LEFT JOIN leasehold.outcome ON outcome.task_id = part.id AND outcome.status = 'DONE'
ORDER BY source.number, part.segment
