-- states: Where a job and its parts stand in its machine.
SELECT subject, name FROM main.state WHERE job_id = :job ORDER BY subject
