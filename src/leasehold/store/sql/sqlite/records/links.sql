-- links: Read the jobs that these tasks of a job have submitted.
SELECT link.parent_id, link.key, link.job_id AS child, task.kind, task.key AS job
FROM main.link LEFT JOIN main.task ON task.id = link.job_id
WHERE link.parent_job_id = :job AND link.parent_id IN (SELECT value FROM json_each(:tasks))
ORDER BY link.parent_id, link.key
