-- deliveries: Read the deliveries of these tasks.
SELECT delivery.task_id, delivery.subject, delivery.recipient, delivery.version, delivery.message, delivery.provider,
    delivery.status,
    delivery.attempts, delivery.notification_id, delivery.notified_at, delivery.failure, delivery.created_at
FROM leasehold.delivery
WHERE delivery.task_id = ANY(ARRAY(SELECT value::bigint FROM jsonb_array_elements_text(%(tasks)s::jsonb)))
ORDER BY delivery.task_id, delivery.id
