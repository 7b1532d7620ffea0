-- lease: Read who holds a job, until when and since when.
SELECT worker.host, lease.expires_at / 1000000.0, lease.started_at / 1000000.0
FROM lease JOIN worker ON worker.id = lease.worker WHERE lease.task_id = :job
