-- settle: End leased attempts, each only while its own lease stands; a cancelled task ends CANCELLED whatever came of it.
-- Differs from PostgreSQL: a scratch table carries the rows from step to step, since no CTE may write here.
INSERT OR IGNORE INTO temp.leasehold_ended (task_id, fence, epoch, attempt, worker, onward, limited, status, output, failure, delay_us, detail)
SELECT lease.task_id, lease.fence, lease.epoch, lease.attempt, lease.worker, lease.onward, lease.limited,
    CASE WHEN lease.cancel_reason IS NULL THEN item.value ->> 'status' ELSE 'CANCELLED' END,
    item.value ->> 'output', coalesce(lease.cancel_reason, item.value ->> 'failure'), item.value ->> 'delay_us',
    coalesce(lease.cancel_reason, item.value ->> 'detail', item.value ->> 'failure')
FROM json_each(:settlements) AS item
CROSS JOIN main.lease ON lease.task_id = item.value ->> 'task_id' AND lease.fence = item.value ->> 'fence'
WHERE lease.expires_at > leasehold_now();

DELETE FROM main.lease WHERE task_id IN (SELECT task_id FROM temp.leasehold_ended);

INSERT INTO main.outcome (task_id, epoch, fence, status, output, failure, finished_at)
SELECT task_id, epoch, fence, status, output, failure, leasehold_now() FROM temp.leasehold_ended WHERE status <> 'RETRY';

INSERT INTO main.waiting (task_id, due_at, unmet, attempt, fence, epoch)
SELECT task_id, leasehold_now() + coalesce(delay_us, 0), 0, attempt, fence, epoch FROM temp.leasehold_ended WHERE status = 'RETRY';

INSERT INTO main.unsettled (task_id) SELECT task_id FROM temp.leasehold_ended WHERE onward AND status <> 'RETRY';

UPDATE main.slot SET task_id = NULL WHERE task_id IN (SELECT task_id FROM temp.leasehold_ended WHERE limited);

INSERT INTO main.event (task_id, at, name, fence, attempt, worker, detail)
SELECT task_id, leasehold_now(),
    CASE status WHEN 'DONE' THEN 'done' WHEN 'ERROR' THEN 'failed' WHEN 'RETRY' THEN 'retried' ELSE 'cancelled' END,
    fence, attempt, worker, detail
FROM temp.leasehold_ended;

SELECT task_id, fence, status, onward FROM temp.leasehold_ended;

DELETE FROM temp.leasehold_ended;
