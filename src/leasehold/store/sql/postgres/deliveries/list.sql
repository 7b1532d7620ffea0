-- list: List deliveries, newest first.
SELECT id, task_id, subject, recipient, version, message, provider, status, fence, attempts, lookups, due_at,
    notification_id, notified_at, failure, created_at FROM leasehold.delivery
WHERE (%(status)s::text IS NULL OR status = %(status)s::text)
  AND (%(subject)s::text IS NULL OR subject = %(subject)s::text)
  AND (%(before)s::bigint IS NULL OR id < %(before)s::bigint)
ORDER BY id DESC LIMIT %(most)s::integer
