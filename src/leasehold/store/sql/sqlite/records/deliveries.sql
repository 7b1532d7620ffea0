-- deliveries: Read the deliveries of these tasks.
SELECT id, task_id, subject, recipient, version, message, provider, status, fence, attempts, lookups, due_at,
    notification_id, notified_at, failure, created_at
FROM main.delivery
WHERE task_id IN (SELECT value FROM json_each(:tasks))
ORDER BY task_id, id
