-- revive_needs: List which stages of a job wait for which.
SELECT need.task_id, need.on_task_id FROM leasehold.task JOIN leasehold.need ON need.task_id = task.id
WHERE task.parent_id = %(job)s::bigint ORDER BY need.task_id, need.number
