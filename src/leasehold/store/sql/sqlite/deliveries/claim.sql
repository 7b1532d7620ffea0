-- claim: Take a provider's due deliveries, with what each was before; what is certainly not sent stays pending.
-- Differs from PostgreSQL: a scratch table remembers what each was, since RETURNING here knows only what it became.
INSERT INTO temp.leasehold_carried (id, was)
SELECT id, status FROM main.delivery
WHERE provider = :provider AND due_at <= leasehold_now()
  AND (notified_at IS NULL OR status = 'reconciling') AND (:only IS NULL OR status = :only)
  AND (:delivery IS NULL OR id = :delivery)
ORDER BY due_at LIMIT :most;

UPDATE main.delivery SET
    status = CASE WHEN status = 'reconciling' OR (status = 'pending' AND notification_id IS NULL)
        THEN status ELSE 'sending' END,
    fence = fence + 1, attempts = attempts + CASE WHEN status = 'pending' AND worker IS NOT NULL THEN 0 ELSE 1 END,
    due_at = leasehold_now() + :lease_us, worker = :worker
WHERE id IN (SELECT id FROM temp.leasehold_carried);

SELECT delivery.id, delivery.task_id, delivery.subject, delivery.recipient, delivery.version, delivery.message,
    delivery.provider, delivery.status, delivery.fence, delivery.attempts, delivery.lookups, delivery.due_at,
    delivery.notification_id, delivery.notified_at, delivery.failure, delivery.created_at, carried.was
FROM temp.leasehold_carried AS carried CROSS JOIN main.delivery ON delivery.id = carried.id ORDER BY carried.id;

DELETE FROM temp.leasehold_carried;
