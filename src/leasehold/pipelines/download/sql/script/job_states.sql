-- job_states: List the states that a job has been in.
SELECT detail ->> 'to' FROM event WHERE task_id = :job AND name = 'moved'
