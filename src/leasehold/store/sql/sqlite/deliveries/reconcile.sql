-- reconcile: Have what is in doubt or reconciling looked up again, once; one delivery, or all of these providers.
UPDATE main.delivery SET status = 'reconciling', due_at = leasehold_now(), fence = fence + 1, worker = NULL, lookups = :lookups
WHERE status IN ('in_doubt', 'reconciling') AND provider IN (SELECT value FROM json_each(:providers))
  AND (:delivery IS NULL OR id = :delivery)
RETURNING id, task_id, subject, recipient, version, message, provider, status, fence, attempts, lookups, due_at,
    notification_id, notified_at, failure, created_at
