-- list: List worker processes that have not ended, with what they serve and how many live leases of each queue they hold.
SELECT worker.id, worker.host, worker.boot, worker.namespace, worker.pid, worker.birth, worker.started_at,
    worker.seen_at, worker.queues, worker.routes, worker.concurrency,
    (SELECT json_group_array(json_array(held.queue, held.tasks)) FROM (
        SELECT substr(task.queue, 1, instr(task.queue || '/', '/') - 1) AS queue, count(*) AS tasks
        FROM main.lease JOIN main.task ON task.id = lease.task_id WHERE lease.worker = worker.id AND lease.expires_at > leasehold_now() GROUP BY 1
    ) AS held) AS running
FROM main.worker WHERE worker.ended_at IS NULL ORDER BY worker.id LIMIT :most
