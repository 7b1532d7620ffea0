-- links: Read the jobs that these tasks of a job have submitted.
SELECT link.parent_id, link.key, link.job_id AS child, task.kind, task.key AS job
FROM leasehold.link LEFT JOIN leasehold.task ON task.id = link.job_id
WHERE link.parent_job_id = %(job)s::bigint
    AND link.parent_id = ANY(ARRAY(SELECT value::bigint FROM jsonb_array_elements_text(%(tasks)s::jsonb)))
ORDER BY link.parent_id, link.key
