-- prune_workers: Remove worker processes that ended long ago and hold nothing.
DELETE FROM leasehold.worker
WHERE id = ANY(ARRAY(
    SELECT worker.id FROM leasehold.worker
    WHERE worker.ended_at < leasehold.leasehold_now() - %(age)s::bigint
      AND NOT EXISTS (SELECT 1 FROM leasehold.lease WHERE lease.worker = worker.id)
      AND NOT EXISTS (SELECT 1 FROM leasehold.delivery WHERE delivery.worker = worker.id)
    ORDER BY worker.id LIMIT %(most)s::integer))
RETURNING id
