-- segments: Count where the segments of each stage of a job stand.
SELECT status.stage, status.status, count(*) AS segments FROM leasehold.task_status AS status
WHERE status.id = ANY(ARRAY(
        SELECT id FROM leasehold.task WHERE job_id = %(job)s::bigint AND parent_id IS NOT NULL AND segment IS NOT NULL))
GROUP BY status.stage, status.status ORDER BY status.stage, status.status
