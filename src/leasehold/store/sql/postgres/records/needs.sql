-- needs: List which stages these tasks wait for, in the order in which they name them.
SELECT need.task_id, stage.stage
FROM leasehold.need JOIN leasehold.task AS stage ON stage.id = need.on_task_id
WHERE need.task_id = ANY(ARRAY(SELECT value::bigint FROM jsonb_array_elements_text(%(tasks)s::jsonb)))
ORDER BY need.task_id, need.number
