-- copy_task: Take in new jobs.
COPY leasehold.task (id, job_id, kind, key, payload, queue, priority, attempts_max, lease_ms, on_lost, created_at)
FROM STDIN
