-- stuck: List deliveries of a status that waits for somebody, newest first.
SELECT id, task_id, subject, recipient, version, message, provider, status, fence, attempts, lookups, due_at,
    notification_id, notified_at, failure, created_at FROM leasehold.delivery
WHERE status = %(status)s::text AND status IN ('failed', 'in_doubt', 'reconciling')
  AND (%(subject)s::text IS NULL OR subject = %(subject)s::text)
  AND (%(before)s::bigint IS NULL OR id < %(before)s::bigint)
ORDER BY id DESC LIMIT %(most)s::integer
