-- revive_scope: List a job, its stages and one more task of it: how each ended, and whether that was looked at.
SELECT task.id, task.parent_id, task.stage, task.segment, task.each_field IS NOT NULL AS fans_out, outcome.epoch,
    outcome.status,
    outcome.failure::jsonb ->> 'error_class' AS error_class,
    EXISTS (SELECT 1 FROM leasehold.unsettled WHERE unsettled.task_id = task.id) AS pending
FROM leasehold.task LEFT JOIN leasehold.outcome ON outcome.task_id = task.id
WHERE task.id = ANY(ARRAY(
        SELECT id FROM leasehold.task WHERE parent_id = %(job)s::bigint
        UNION SELECT %(job)s::bigint UNION SELECT %(task)s::bigint))
ORDER BY task.id
