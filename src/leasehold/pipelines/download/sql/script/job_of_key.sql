-- job_of_key: Find a job by its key.
SELECT id FROM task WHERE kind = 'artifact' AND key = :key AND parent_id IS NULL
