-- job: Read a job's status and end, the time, and whether ends of its tasks wait for the orchestrator.
SELECT leasehold_now() AS now, task.kind, status.status, outcome.failure, outcome.finished_at,
    EXISTS (SELECT 1 FROM main.unsettled JOIN main.task AS part ON part.id = unsettled.task_id
        WHERE part.job_id = task.id) AS unsettled
FROM main.task
JOIN main.task_status AS status ON status.id = task.id
LEFT JOIN main.outcome ON outcome.task_id = task.id
WHERE task.id = :job AND task.parent_id IS NULL
