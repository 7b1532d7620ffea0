-- expired: List leases whose time is over and that a sweep has not seen yet.
SELECT task_id, fence FROM main.lease
WHERE expires_at <= leasehold_now() AND expires_at > :since
ORDER BY task_id LIMIT :most
