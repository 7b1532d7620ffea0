-- settled: Tell which of these attempts their holder has ended already, for one whose last COMMIT got no answer.
SELECT event.task_id, event.fence,
    CASE event.name WHEN 'done' THEN 'DONE' WHEN 'failed' THEN 'ERROR' WHEN 'retried' THEN 'RETRY'
        ELSE 'CANCELLED' END AS status,
    task.parent_id IS NOT NULL AS has_dependents
FROM json_each(:leases) AS item
JOIN main.event ON event.task_id = item.value ->> 'task_id' AND event.fence = item.value ->> 'fence'
JOIN main.task ON task.id = event.task_id
WHERE event.name IN ('done', 'failed', 'retried', 'cancelled') AND event.worker IS NOT NULL
