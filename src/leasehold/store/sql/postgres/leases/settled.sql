-- settled: Tell which of these attempts their holder has ended already, for one whose last COMMIT got no answer.
SELECT event.task_id, event.fence,
    CASE event.name WHEN 'done' THEN 'DONE' WHEN 'failed' THEN 'ERROR' WHEN 'retried' THEN 'RETRY'
        ELSE 'CANCELLED' END AS status,
    task.parent_id IS NOT NULL AS has_dependents
FROM jsonb_to_recordset(%(leases)s::jsonb) AS item (task_id bigint, fence integer)
JOIN leasehold.event ON event.task_id = item.task_id AND event.fence = item.fence
JOIN leasehold.task ON task.id = event.task_id
WHERE event.name IN ('done', 'failed', 'retried', 'cancelled') AND event.worker IS NOT NULL
