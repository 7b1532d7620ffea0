-- claim: Take a provider's due deliveries: committed as begun, with what each was before.
-- Differs from PostgreSQL: a scratch table remembers what each was, since RETURNING here knows only what it became.
INSERT INTO temp.leasehold_carried (id, was)
SELECT id, status FROM main.delivery
WHERE provider = :provider AND due_at <= leasehold_now()
  AND (notified_at IS NULL OR status = 'reconciling') AND (:only IS NULL OR status = :only)
  AND (:delivery IS NULL OR id = :delivery)
ORDER BY due_at LIMIT :most;

UPDATE main.delivery SET
    status = CASE status WHEN 'reconciling' THEN 'reconciling' ELSE 'sending' END,
    fence = fence + 1, attempts = attempts + 1, due_at = leasehold_now() + :lease_us
WHERE id IN (SELECT id FROM temp.leasehold_carried);

SELECT delivery.id, delivery.task_id, delivery.subject, delivery.recipient, delivery.version, delivery.message,
    delivery.provider, delivery.status, delivery.fence, delivery.attempts, delivery.lookups, delivery.due_at,
    delivery.notification_id, delivery.notified_at, delivery.failure, delivery.created_at, carried.was
FROM temp.leasehold_carried AS carried CROSS JOIN main.delivery ON delivery.id = carried.id ORDER BY carried.id;

DELETE FROM temp.leasehold_carried;
