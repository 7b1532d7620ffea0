-- dead_of: List the dead letters of a job, or of one task of it, oldest first.
SELECT * FROM main.letter
WHERE job_id = :job AND (:task IS NULL OR task_id = :task)
ORDER BY id LIMIT :most
