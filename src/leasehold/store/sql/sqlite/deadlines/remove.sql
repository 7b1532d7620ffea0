-- remove: Remove deadlines: the job has ended, or was revived.
DELETE FROM main.deadline WHERE job_id IN (SELECT value FROM json_each(:jobs))
