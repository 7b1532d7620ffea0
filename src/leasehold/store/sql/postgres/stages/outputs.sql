-- outputs: Read the outputs of a pipeline job: those of the stages nobody waits for, segments in their order.
-- Differs from SQLite: here an index serves only one side of an OR, so the two are taken one after the other.
SELECT stage.stage, part.segment, outcome.output, stage.each_field IS NOT NULL AS fanned
FROM leasehold.task AS stage
LEFT JOIN LATERAL (
    SELECT stage.id, NULL::integer AS segment WHERE stage.each_field IS NULL
    UNION ALL
    SELECT task.id, task.segment FROM leasehold.task WHERE stage.each_field IS NOT NULL AND task.parent_id = stage.id
        -- those of an earlier fan-out have none
        AND EXISTS (SELECT 1 FROM leasehold.outcome WHERE outcome.task_id = task.id)
) AS part ON true
LEFT JOIN leasehold.outcome ON outcome.task_id = part.id AND outcome.status = 'DONE'
WHERE stage.parent_id = %(job)s::bigint
  AND NOT EXISTS (SELECT 1 FROM leasehold.need WHERE need.on_task_id = stage.id)
ORDER BY stage.id, part.segment
