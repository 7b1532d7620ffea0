-- finalized: List the results of FINALIZE for each job that is not leased, the last one last, with the job's state.
SELECT task.id, job_state.state, effect.result
FROM task
JOIN job_state ON job_state.job_id = task.id
JOIN effect ON effect.job_id = task.id AND effect.kind = 'FINALIZE' AND effect.result IS NOT NULL
WHERE task.kind = 'artifact'
  AND NOT EXISTS (SELECT 1 FROM lease WHERE lease.task_id = task.id AND lease.expires_at > leasehold_now())
ORDER BY task.id, effect.recorded_at
