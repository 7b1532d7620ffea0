-- answer: Write what a person knows of a delivery that is in doubt, reconciling or failed.
UPDATE main.delivery SET
    status = CASE WHEN :sent THEN 'sent' ELSE 'pending' END,
    notification_id = CASE WHEN :sent THEN :notification_id END,
    notified_at = CASE WHEN :sent THEN coalesce(notified_at, leasehold_now()) END,
    due_at = CASE WHEN :sent THEN NULL ELSE leasehold_now() END,
    attempts = CASE WHEN :sent THEN attempts ELSE 0 END,
    fence = fence + 1, lookups = 0, failure = NULL, worker = NULL
WHERE id = :delivery AND status IN ('in_doubt', 'reconciling', 'failed')
RETURNING id, task_id, subject, recipient, version, message, provider, status, fence, attempts, lookups, due_at,
    notification_id, notified_at, failure, created_at
