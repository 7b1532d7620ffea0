-- leased_jobs: List jobs that are leased now, with their keys.
SELECT CAST(task.id AS TEXT), task.key FROM lease JOIN task ON task.id = lease.task_id
WHERE task.kind = 'artifact' AND lease.expires_at > leasehold_now()
