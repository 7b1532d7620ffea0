-- mark: Write what came of deliveries, each in one write and only while its own claim stands.
WITH clock AS MATERIALIZED (SELECT leasehold.leasehold_now() AS now),
item AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(marks)s::jsonb) AS i (
        id bigint, fence integer, status text, evidence text, notification_id text, delay_us bigint, spent integer,
        lookups integer, failure text)
)
UPDATE leasehold.delivery SET status = item.status,
    notification_id = CASE item.evidence WHEN 'given' THEN item.notification_id
        WHEN 'kept' THEN delivery.notification_id END,
    notified_at = CASE item.evidence WHEN 'given' THEN clock.now WHEN 'kept' THEN delivery.notified_at END,
    due_at = clock.now + item.delay_us, attempts = delivery.attempts - 1 + item.spent, lookups = item.lookups,
    failure = item.failure, worker = NULL
FROM item, clock
WHERE delivery.id = item.id AND delivery.fence = item.fence AND delivery.status IN ('sending', 'reconciling')
RETURNING delivery.id, delivery.fence
