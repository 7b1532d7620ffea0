-- revive_scope: List a job, its stages and one more task of it: how each ended, and whether that was looked at.
SELECT task.id, task.parent_id, task.stage, task.segment, task.each_field IS NOT NULL AS fans_out, outcome.epoch,
    outcome.status,
    outcome.failure ->> 'error_class' AS error_class,
    EXISTS (SELECT 1 FROM main.unsettled WHERE unsettled.task_id = task.id) AS pending
FROM main.task LEFT JOIN main.outcome ON outcome.task_id = task.id
WHERE task.id IN (
        SELECT id FROM main.task WHERE parent_id = :job
        UNION SELECT :job UNION SELECT :task)
ORDER BY task.id
