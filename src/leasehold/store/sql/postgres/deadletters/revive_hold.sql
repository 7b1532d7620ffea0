-- revive_hold: Lock what waits of a job, so that no cancel ends it meanwhile.
SELECT waiting.task_id FROM leasehold.waiting
WHERE waiting.task_id = ANY(ARRAY(
        SELECT id FROM leasehold.task WHERE id = %(job)s::bigint
        UNION ALL
        SELECT id FROM leasehold.task WHERE job_id = %(job)s::bigint AND parent_id IS NOT NULL))
ORDER BY waiting.task_id FOR UPDATE
