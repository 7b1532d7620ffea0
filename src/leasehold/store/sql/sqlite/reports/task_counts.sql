-- task_counts: Count a job's tasks by stage and status; what was divided into parts counts as its parts.
SELECT status.stage, status.status, count(*) AS tasks
FROM main.task_status AS status
WHERE status.id IN (
        SELECT id FROM main.task WHERE id = :job AND parent_id IS NULL
        UNION ALL
        SELECT id FROM main.task WHERE job_id = :job AND parent_id IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM main.task AS part WHERE part.parent_id = status.id)
GROUP BY status.stage, status.status ORDER BY min(status.id)
