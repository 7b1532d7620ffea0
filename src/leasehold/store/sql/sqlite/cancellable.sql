-- cancellable: Count a job's tasks that have neither ended nor been asked to stop.
SELECT count(*) FROM task
WHERE (task.id = :job OR (task.parent_id IS NOT NULL AND task.job_id = :job))
  AND (EXISTS (SELECT 1 FROM waiting WHERE waiting.task_id = task.id)
    OR EXISTS (SELECT 1 FROM ready WHERE ready.task_id = task.id)
    OR EXISTS (SELECT 1 FROM lease WHERE lease.task_id = task.id AND lease.cancel_reason IS NULL))
