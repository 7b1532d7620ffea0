-- get: Read one delivery.
SELECT id, task_id, subject, recipient, version, message, provider, status, fence, attempts, lookups, due_at,
    notification_id, notified_at, failure, created_at FROM leasehold.delivery WHERE id = %(delivery)s::bigint
