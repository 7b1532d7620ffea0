-- cancellable: Count a job's tasks that have neither ended nor been asked to stop.
SELECT count(*) FROM leasehold.task
WHERE (task.id = %(job)s::bigint OR (task.parent_id IS NOT NULL AND task.job_id = %(job)s::bigint))
  AND (EXISTS (SELECT 1 FROM leasehold.waiting WHERE waiting.task_id = task.id)
    OR EXISTS (SELECT 1 FROM leasehold.ready WHERE ready.task_id = task.id)
    OR EXISTS (SELECT 1 FROM leasehold.lease WHERE lease.task_id = task.id AND lease.cancel_reason IS NULL))
