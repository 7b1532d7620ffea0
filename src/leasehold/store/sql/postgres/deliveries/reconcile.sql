-- reconcile: Have what is in doubt or reconciling looked up again, once; one delivery, or all of these providers.
UPDATE leasehold.delivery SET status = 'reconciling', due_at = leasehold.leasehold_now(), fence = fence + 1, worker = NULL,
    lookups = %(lookups)s::integer
WHERE status IN ('in_doubt', 'reconciling')
    AND provider = ANY(ARRAY(SELECT jsonb_array_elements_text(%(providers)s::jsonb)))
  AND (%(delivery)s::bigint IS NULL OR id = %(delivery)s::bigint)
RETURNING id, task_id, subject, recipient, version, message, provider, status, fence, attempts, lookups, due_at,
    notification_id, notified_at, failure, created_at
