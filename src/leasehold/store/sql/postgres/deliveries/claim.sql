-- claim: Take a provider's due deliveries, with what each was before; what is certainly not sent stays pending.
WITH clock AS MATERIALIZED (SELECT leasehold.leasehold_now() AS now),
due AS MATERIALIZED (
    SELECT delivery.id, delivery.status,
        delivery.status = 'pending' AND delivery.worker IS NOT NULL AS was_claimed FROM leasehold.delivery
    WHERE delivery.provider = %(provider)s::text AND delivery.due_at <= (SELECT now FROM clock)
      AND (delivery.notified_at IS NULL OR delivery.status = 'reconciling')
      AND (%(only)s::text IS NULL OR delivery.status = %(only)s::text)
      AND (%(delivery)s::bigint IS NULL OR delivery.id = %(delivery)s::bigint)
    ORDER BY delivery.due_at LIMIT %(most)s::integer FOR UPDATE SKIP LOCKED
)
UPDATE leasehold.delivery SET
    status = CASE WHEN due.status = 'reconciling' OR (due.status = 'pending' AND delivery.notification_id IS NULL)
        THEN due.status ELSE 'sending' END,
    fence = delivery.fence + 1, attempts = delivery.attempts + CASE WHEN due.was_claimed THEN 0 ELSE 1 END,
    due_at = clock.now + %(lease_us)s::bigint, worker = %(worker)s::integer
FROM due, clock WHERE delivery.id = due.id
RETURNING delivery.id, delivery.task_id, delivery.subject, delivery.recipient, delivery.version, delivery.message,
    delivery.provider, delivery.status, delivery.fence, delivery.attempts, delivery.lookups, delivery.due_at,
    delivery.notification_id, delivery.notified_at, delivery.failure, delivery.created_at, due.status AS was
