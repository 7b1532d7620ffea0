-- reclaim: Give back the deliveries of a worker process that is gone; one that was not begun spends no attempt.
UPDATE main.delivery SET due_at = leasehold_now(), worker = NULL,
    attempts = attempts - CASE WHEN status = 'pending' THEN 1 ELSE 0 END
WHERE worker = :worker AND status IN ('pending', 'sending', 'reconciling')
RETURNING id, status
