-- cancellable: Count a job's tasks that have neither ended nor been asked to stop.
WITH member AS MATERIALIZED (
    SELECT id FROM leasehold.task WHERE id = %(job)s::bigint AND parent_id IS NULL
    UNION ALL
    SELECT id FROM leasehold.task WHERE job_id = %(job)s::bigint AND parent_id IS NOT NULL
)
SELECT count(*) FROM member
WHERE EXISTS (SELECT 1 FROM leasehold.waiting WHERE waiting.task_id = member.id)
   OR EXISTS (SELECT 1 FROM leasehold.ready WHERE ready.task_id = member.id)
   OR EXISTS (SELECT 1 FROM leasehold.lease WHERE lease.task_id = member.id AND lease.cancel_reason IS NULL)
