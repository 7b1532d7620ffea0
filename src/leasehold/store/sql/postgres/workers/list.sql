-- list: List worker processes that have not ended, with what they serve and how many live leases of each queue they hold.
WITH held AS MATERIALIZED (
    SELECT lease.worker, split_part(task.queue, '/', 1) AS queue, count(*) AS tasks
    FROM leasehold.lease JOIN leasehold.task ON task.id = lease.task_id
    WHERE lease.expires_at > leasehold.leasehold_now() GROUP BY 1, 2
)
SELECT worker.id, worker.host, worker.boot, worker.namespace, worker.pid, worker.birth, worker.started_at,
    worker.seen_at, worker.queues, worker.routes, worker.concurrency,
    (SELECT coalesce(json_agg(json_build_array(held.queue, held.tasks)), '[]'::json)::text FROM held
        WHERE held.worker = worker.id) AS running
FROM leasehold.worker WHERE worker.ended_at IS NULL ORDER BY worker.id LIMIT %(most)s::integer
