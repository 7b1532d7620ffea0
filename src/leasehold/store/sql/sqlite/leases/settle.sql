-- settle: End leased attempts, each only while its lease is live; a cancelled task ends CANCELLED in any case.
-- Differs from PostgreSQL: a scratch table carries the rows from step to step, since no CTE may write here.
INSERT OR IGNORE INTO temp.leasehold_ended (task_id, fence, epoch, attempt, worker, has_dependents, limited, status,
    output, failure, delay_us, detail, deliveries, losses, mark)
SELECT lease.task_id, lease.fence, lease.epoch, lease.attempt, lease.worker, lease.has_dependents, lease.limited,
    CASE WHEN lease.cancel_reason IS NULL THEN item.value ->> 'status' ELSE 'CANCELLED' END,
    item.value ->> 'output', coalesce(lease.cancel_reason, item.value ->> 'failure'), item.value ->> 'delay_us',
    coalesce(lease.cancel_reason, item.value ->> 'detail', item.value ->> 'failure'), item.value -> 'deliveries',
        lease.losses, lease.mark
FROM json_each(:settlements) AS item
CROSS JOIN main.lease ON lease.task_id = item.value ->> 'task_id' AND lease.fence = item.value ->> 'fence'
WHERE lease.expires_at > leasehold_now();

UPDATE temp.leasehold_ended SET status = 'ERROR', output = NULL,
    detail = :conflict, failure = :conflict
WHERE status = 'DONE' AND deliveries IS NOT NULL AND EXISTS (
    SELECT 1 FROM json_each(leasehold_ended.deliveries) AS post
    JOIN main.delivery ON delivery.subject = post.value ->> 'subject'
        AND delivery.recipient = post.value ->> 'recipient'
        AND delivery.version = post.value ->> 'version'
    WHERE delivery.message <> post.value ->> 'message' OR delivery.provider <> post.value ->> 'provider');

UPDATE temp.leasehold_ended SET name = CASE status WHEN 'DONE' THEN 'done' WHEN 'ERROR' THEN 'failed'
    WHEN 'RETRY' THEN 'retried' ELSE 'cancelled' END;

UPDATE temp.leasehold_ended SET mark = unhex(made.value ->> 1)
FROM json_each(leasehold_links((
    SELECT json_group_array(json_array(task_id, hex(mark), leasehold_now(), name, fence, attempt, worker,
        CASE status WHEN 'DONE' THEN coalesce(detail, '') || char(31) || coalesce(output, '') ELSE detail END))
    FROM temp.leasehold_ended))) AS made
WHERE leasehold_ended.task_id = made.value ->> 0;

DELETE FROM main.lease WHERE task_id IN (SELECT task_id FROM temp.leasehold_ended);

INSERT INTO main.outcome (task_id, epoch, fence, status, output, failure, finished_at, mark)
SELECT task_id, epoch, fence, status, output, failure, leasehold_now(), mark FROM temp.leasehold_ended
WHERE status <> 'RETRY';

INSERT INTO main.waiting (task_id, due_at, unmet, attempt, fence, epoch, losses, mark)
SELECT task_id, leasehold_now() + coalesce(delay_us, 0), 0, attempt, fence, epoch, losses, mark
FROM temp.leasehold_ended WHERE status = 'RETRY';

INSERT INTO main.dead_letter (task_id, epoch, fence, error_class, failure, attempts, first_failure_at,
    last_failure_at, escalated)
SELECT dead.task_id, dead.epoch, dead.fence, coalesce(dead.failure ->> 'error_class', 'UNCLASSIFIED'), dead.failure,
    dead.attempt,
    coalesce((SELECT min(event.at) FROM main.event WHERE event.task_id = dead.task_id
        AND event.name IN ('retried', 'reclaimed')
        AND event.fence > coalesce((SELECT max(fence) FROM main.dead_letter WHERE task_id = dead.task_id), 0)),
        leasehold_now()),
    leasehold_now(),
    coalesce((SELECT error_class FROM main.dead_letter
        WHERE task_id IN (SELECT peer_id FROM main.peer WHERE peer.task_id = dead.task_id)
            ORDER BY id DESC LIMIT 1) = coalesce(dead.failure ->> 'error_class', 'UNCLASSIFIED')
        AND NOT coalesce(dead.failure ->> 'retryable', 0), 0)
FROM temp.leasehold_ended AS dead
WHERE dead.status = 'ERROR';

INSERT OR IGNORE INTO main.delivery (task_id, subject, recipient, version, message, provider, due_at, created_at)
SELECT ended.task_id, post.value ->> 'subject', post.value ->> 'recipient', post.value ->> 'version',
    post.value ->> 'message',
    post.value ->> 'provider', leasehold_now(), leasehold_now()
FROM temp.leasehold_ended AS ended CROSS JOIN json_each(ended.deliveries) AS post
WHERE ended.status = 'DONE' AND ended.deliveries IS NOT NULL;

INSERT INTO main.unsettled (task_id) SELECT task_id FROM temp.leasehold_ended
WHERE has_dependents AND status <> 'RETRY';

UPDATE main.slot SET task_id = NULL WHERE task_id IN (SELECT task_id FROM temp.leasehold_ended WHERE limited);

INSERT INTO main.event (task_id, at, name, fence, attempt, worker, detail, mark)
SELECT task_id, leasehold_now(), name, fence, attempt, worker, detail, mark FROM temp.leasehold_ended;

SELECT task_id, fence, status, has_dependents FROM temp.leasehold_ended;

DELETE FROM temp.leasehold_ended;
