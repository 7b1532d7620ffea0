-- inputs: Read the outputs of the stages a task waited for, segments in their order.
WITH source AS MATERIALIZED (
    SELECT need.on_task_id, need.number FROM main.task
    JOIN main.need ON need.task_id = CASE WHEN task.segment IS NULL THEN task.id ELSE task.parent_id END
    WHERE task.id = :task
)
SELECT stage.stage, part.segment, outcome.output, stage.each_field IS NOT NULL AS fanned
FROM source JOIN main.task AS stage ON stage.id = source.on_task_id
LEFT JOIN main.task AS part
    ON (stage.each_field IS NULL AND part.id = stage.id)
    OR (stage.each_field IS NOT NULL AND part.parent_id = stage.id
        -- those of an earlier fan-out have none
        AND EXISTS (SELECT 1 FROM main.outcome WHERE outcome.task_id = part.id))
LEFT JOIN main.outcome ON outcome.task_id = part.id AND outcome.status = 'DONE'
ORDER BY source.number, part.segment
