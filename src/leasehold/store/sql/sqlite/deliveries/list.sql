-- list: List deliveries, newest first.
SELECT id, task_id, subject, recipient, version, message, provider, status, fence, attempts, lookups, due_at,
    notification_id, notified_at, failure, created_at FROM main.delivery
WHERE (:status IS NULL OR status = :status)
  AND (:subject IS NULL OR subject = :subject)
  AND (:before IS NULL OR id < :before)
ORDER BY id DESC LIMIT :most
