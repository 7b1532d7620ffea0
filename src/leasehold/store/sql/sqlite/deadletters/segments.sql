-- segments: Count where the segments of each stage of a job stand.
SELECT status.stage, status.status, count(*) AS segments FROM main.task_status AS status
WHERE status.id IN (SELECT id FROM main.task WHERE job_id = :job AND parent_id IS NOT NULL AND segment IS NOT NULL)
GROUP BY status.stage, status.status ORDER BY status.stage, status.status
