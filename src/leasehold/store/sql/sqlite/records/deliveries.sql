-- deliveries: Read the deliveries of these tasks.
SELECT delivery.task_id, delivery.subject, delivery.recipient, delivery.version, delivery.message, delivery.provider,
    delivery.status,
    delivery.attempts, delivery.notification_id, delivery.notified_at, delivery.failure, delivery.created_at
FROM main.delivery
WHERE delivery.task_id IN (SELECT value FROM json_each(:tasks))
ORDER BY delivery.task_id, delivery.id
