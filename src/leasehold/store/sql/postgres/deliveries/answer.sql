-- answer: Write what a person knows of a delivery that is in doubt, reconciling or failed.
UPDATE leasehold.delivery SET
    status = CASE WHEN %(sent)s::boolean THEN 'sent' ELSE 'pending' END,
    notification_id = CASE WHEN %(sent)s::boolean THEN %(notification_id)s::text END,
    notified_at = CASE WHEN %(sent)s::boolean THEN coalesce(notified_at, leasehold.leasehold_now()) END,
    due_at = CASE WHEN %(sent)s::boolean THEN NULL ELSE leasehold.leasehold_now() END,
    attempts = CASE WHEN %(sent)s::boolean THEN attempts ELSE 0 END,
    fence = fence + 1, lookups = 0, failure = NULL, worker = NULL
WHERE id = %(delivery)s::bigint AND status IN ('in_doubt', 'reconciling', 'failed')
RETURNING id, task_id, subject, recipient, version, message, provider, status, fence, attempts, lookups, due_at,
    notification_id, notified_at, failure, created_at
