-- follow_job: Read the journal of one job in the order of its numbers, from one to another.
SELECT event.id, event.task_id, event.at, event.name, event.fence, event.attempt, event.worker, event.detail,
    task.job_id, task.kind, task.stage, task.segment
FROM main.event JOIN main.task ON task.id = event.task_id
WHERE event.task_id IN (
        SELECT id FROM main.task WHERE id = :job AND parent_id IS NULL
        UNION ALL
        SELECT id FROM main.task WHERE job_id = :job AND parent_id IS NOT NULL)
  AND event.id > :after AND event.id <= :upto
ORDER BY event.id LIMIT :most
