-- register: Add a worker process and return its number; some that ended or fell silent long ago go.
-- One of this boot and namespace that has not ended is left to the sweeper, which can look its process up.
-- Differs from PostgreSQL: two steps, since no CTE may delete here.
DELETE FROM main.worker WHERE id IN (
    SELECT worker.id FROM main.worker
    WHERE coalesce(ended_at, seen_at, started_at) < leasehold_now() - :kept
      AND (ended_at IS NOT NULL OR boot <> :boot OR namespace <> :namespace OR :boot = '')
      AND NOT EXISTS (SELECT 1 FROM main.lease WHERE lease.worker = worker.id)
      AND NOT EXISTS (SELECT 1 FROM main.delivery WHERE delivery.worker = worker.id)
    ORDER BY coalesce(ended_at, seen_at, started_at) LIMIT :most);

INSERT INTO main.worker (host, boot, namespace, pid, birth, started_at, queues, routes, concurrency, seen_at,
    pending_file)
VALUES (:host, :boot, :namespace, :pid, :birth, leasehold_now(), :queues, :routes, :concurrency, leasehold_now(),
    :pending_file)
RETURNING id;
