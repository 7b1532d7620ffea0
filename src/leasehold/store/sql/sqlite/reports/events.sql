-- events: Read the journal of a job in the order it was written.
SELECT event.id, event.task_id, event.at, event.name, event.fence, event.attempt, event.worker, event.detail
FROM main.event
WHERE event.task_id IN (
        SELECT id FROM main.task WHERE id = :job AND parent_id IS NULL
        UNION ALL
        SELECT id FROM main.task WHERE job_id = :job AND parent_id IS NOT NULL)
  AND event.id > :after
ORDER BY event.id LIMIT :most
