-- register: Add a worker process and return its number; some that ended or fell silent long ago go.
-- One of this boot and namespace that has not ended is left to the sweeper, which can look its process up.
WITH old AS MATERIALIZED (
    SELECT worker.id FROM leasehold.worker
    WHERE coalesce(worker.ended_at, worker.seen_at, worker.started_at) < leasehold.leasehold_now() - %(kept)s::bigint
      AND (worker.ended_at IS NOT NULL OR worker.boot <> %(boot)s OR worker.namespace <> %(namespace)s
        OR %(boot)s = '')
      AND NOT EXISTS (SELECT 1 FROM leasehold.lease WHERE lease.worker = worker.id)
      AND NOT EXISTS (SELECT 1 FROM leasehold.delivery WHERE delivery.worker = worker.id)
    ORDER BY coalesce(worker.ended_at, worker.seen_at, worker.started_at) LIMIT %(most)s::integer
    FOR UPDATE SKIP LOCKED
),
gone AS (DELETE FROM leasehold.worker USING old WHERE worker.id = old.id)
INSERT INTO leasehold.worker (host, boot, namespace, pid, birth, started_at, queues, routes, concurrency, seen_at,
    pending_file)
VALUES (%(host)s, %(boot)s, %(namespace)s, %(pid)s::bigint, %(birth)s::bigint, leasehold.leasehold_now(),
    %(queues)s::text, %(routes)s::text, %(concurrency)s::integer, leasehold.leasehold_now(), %(pending_file)s::text)
RETURNING id
