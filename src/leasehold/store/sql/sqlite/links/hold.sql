-- hold: Lock the leases of tasks that submit linked jobs, against a cancel too, and find those that were made before.
-- Differs from PostgreSQL: BEGIN IMMEDIATE has locked them already.
SELECT lease.task_id, lease.fence, item.value ->> 'key' AS key, lease.cancel_reason IS NOT NULL AS stopped,
    coalesce(own.root_id, item.value ->> 'job_id') AS root_id, coalesce(own.depth, 0) AS depth, made.job_id AS child,
    task.kind, task.payload
FROM json_each(:links) AS item
CROSS JOIN main.lease ON lease.task_id = item.value ->> 'task_id' AND lease.fence = item.value ->> 'fence'
LEFT JOIN main.link AS own ON own.job_id = item.value ->> 'job_id'
LEFT JOIN main.link AS made ON made.parent_job_id = item.value ->> 'job_id' AND made.key = item.value ->> 'key'
LEFT JOIN main.task ON task.id = made.job_id
WHERE lease.expires_at > leasehold_now()
