-- cancellable: Count the tasks of a job, and of all jobs below it, that have neither ended nor been asked to stop.
WITH RECURSIVE tree AS (
    SELECT id AS job_id FROM main.task WHERE id = :job AND parent_id IS NULL
    UNION ALL
    SELECT link.job_id FROM tree JOIN main.link ON link.parent_job_id = tree.job_id
),
member AS MATERIALIZED (
    SELECT job_id AS id FROM tree
    UNION ALL
    SELECT id FROM main.task WHERE job_id IN (SELECT job_id FROM tree) AND parent_id IS NOT NULL
)
SELECT count(*) FROM member
WHERE EXISTS (SELECT 1 FROM main.waiting WHERE waiting.task_id = member.id)
   OR EXISTS (SELECT 1 FROM main.ready WHERE ready.task_id = member.id)
   OR EXISTS (SELECT 1 FROM main.lease WHERE lease.task_id = member.id AND lease.cancel_reason IS NULL)
