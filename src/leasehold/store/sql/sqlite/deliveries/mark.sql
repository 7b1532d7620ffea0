-- mark: Write what came of deliveries, each in one write and only while its own claim stands.
UPDATE main.delivery SET status = item.value ->> 'status',
    notification_id = CASE item.value ->> 'evidence' WHEN 'given' THEN item.value ->> 'notification_id'
        WHEN 'kept' THEN delivery.notification_id END,
    notified_at = CASE item.value ->> 'evidence' WHEN 'given' THEN leasehold_now()
        WHEN 'kept' THEN delivery.notified_at END,
    due_at = leasehold_now() + (item.value ->> 'delay_us'), attempts = delivery.attempts - 1 + (item.value ->> 'spent'),
    lookups = item.value ->> 'lookups', failure = item.value ->> 'failure', worker = NULL
FROM json_each(:marks) AS item
WHERE delivery.id = item.value ->> 'id' AND delivery.fence = item.value ->> 'fence'
  AND delivery.status IN ('sending', 'reconciling')
RETURNING delivery.id, delivery.fence
