-- cancellable: Count the tasks of a job, and of all jobs below it, that have neither ended nor been asked to stop.
WITH RECURSIVE tree AS (
    SELECT id AS job_id FROM leasehold.task WHERE id = %(job)s::bigint AND parent_id IS NULL
    UNION ALL
    SELECT child.job_id FROM tree CROSS JOIN LATERAL (
        SELECT link.job_id FROM leasehold.link WHERE link.parent_job_id = tree.job_id OFFSET 0
    ) AS child
),
member AS MATERIALIZED (
    SELECT job_id AS id FROM tree
    UNION ALL
    SELECT id FROM leasehold.task WHERE job_id = ANY(ARRAY(SELECT job_id FROM tree)) AND parent_id IS NOT NULL
)
SELECT count(*) FROM member
WHERE EXISTS (SELECT 1 FROM leasehold.waiting WHERE waiting.task_id = member.id)
   OR EXISTS (SELECT 1 FROM leasehold.ready WHERE ready.task_id = member.id)
   OR EXISTS (SELECT 1 FROM leasehold.lease WHERE lease.task_id = member.id AND lease.cancel_reason IS NULL)
