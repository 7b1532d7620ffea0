-- prune_workers: Remove worker processes that ended long ago and hold nothing.
DELETE FROM main.worker
WHERE id IN (
    SELECT worker.id FROM main.worker
    WHERE worker.ended_at < leasehold_now() - :age
      AND NOT EXISTS (SELECT 1 FROM main.lease WHERE lease.worker = worker.id)
      AND NOT EXISTS (SELECT 1 FROM main.delivery WHERE delivery.worker = worker.id)
    ORDER BY worker.id LIMIT :most)
RETURNING id
