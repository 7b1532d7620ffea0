-- expired: List leases whose time is over and that a sweep has not seen yet.
SELECT task_id, fence, worker, losses, losses_max FROM main.lease_losses
WHERE expires_at <= leasehold_now() AND expires_at > :since
ORDER BY task_id LIMIT :most
