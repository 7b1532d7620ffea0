-- outputs: Read the outputs of a pipeline job: those of the stages nobody waits for, segments in their order.
SELECT stage.stage, part.segment, outcome.output, stage.each_field IS NOT NULL AS fanned
FROM main.task AS stage
LEFT JOIN main.task AS part
    ON (stage.each_field IS NULL AND part.id = stage.id)
    OR (stage.each_field IS NOT NULL AND part.parent_id = stage.id
        -- those of an earlier fan-out have none
        AND EXISTS (SELECT 1 FROM main.outcome WHERE outcome.task_id = part.id))
LEFT JOIN main.outcome ON outcome.task_id = part.id AND outcome.status = 'DONE'
WHERE stage.parent_id = :job
  AND NOT EXISTS (SELECT 1 FROM main.need WHERE need.on_task_id = stage.id)
ORDER BY stage.id, part.segment
