-- suspect: Move what is marked sent without evidence, or is not marked so but should be, to reconciliation.
UPDATE main.delivery SET status = 'reconciling', due_at = leasehold_now(), fence = fence + 1, worker = NULL, lookups = 0
WHERE ((status = 'sent' AND (notified_at IS NULL OR notification_id IS NULL))
    OR (status IN ('pending', 'sending', 'failed') AND notified_at IS NOT NULL))
  AND provider IN (SELECT value FROM json_each(:providers)) AND (:delivery IS NULL OR id = :delivery)
RETURNING id, task_id, subject, recipient, version, message, provider, status, fence, attempts, lookups, due_at,
    notification_id, notified_at, failure, created_at
