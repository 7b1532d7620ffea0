-- of_job: Read the budgets that a job spends from: those of the job at its root.
SELECT name, most, spent FROM main.budget
WHERE job_id = coalesce((SELECT root_id FROM main.link WHERE job_id = :job), :job)
ORDER BY name
