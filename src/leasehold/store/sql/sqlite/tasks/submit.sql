-- submit: Add jobs that are not there yet, each in the place where it starts.
-- Differs from PostgreSQL: a scratch table carries the rows from step to step, since no CTE may write here.
INSERT INTO temp.leasehold_added (id, kind, key, payload, queue, priority, attempts_max, lease_ms, on_lost, delay_us,
    unmet, mark)
SELECT coalesce((SELECT seq FROM main.sqlite_sequence WHERE name = 'task'), 0) + min(item.key) + 1,
    item.value ->> 'kind', item.value ->> 'key', item.value ->> 'payload', item.value ->> 'queue',
    item.value ->> 'priority', item.value ->> 'attempts_max', item.value ->> 'lease_ms', item.value ->> 'on_lost',
    item.value ->> 'delay_us', item.value ->> 'unmet',
    leasehold_link(leasehold_root(item.value ->> 'kind', NULL, NULL, 1, NULL, NULL, item.value ->> 'queue',
        item.value ->> 'priority',
        item.value ->> 'attempts_max', item.value ->> 'lease_ms', item.value ->> 'on_lost', item.value ->> 'unmet',
        item.value ->> 'payload', NULL, item.value ->> 'key'), leasehold_now(), 'submitted', NULL, NULL, NULL, NULL)
FROM json_each(:jobs) AS item
WHERE NOT EXISTS (
    SELECT 1 FROM main.task WHERE task.parent_id IS NULL AND task.kind = item.value ->> 'kind'
        AND task.key = item.value ->> 'key')
GROUP BY item.value ->> 'kind', item.value ->> 'key';

INSERT INTO main.task (id, job_id, kind, key, payload, queue, priority, attempts_max, lease_ms, on_lost, created_at)
SELECT id, id, kind, key, payload, queue, priority, attempts_max, lease_ms, on_lost, leasehold_now()
FROM temp.leasehold_added ORDER BY id;

INSERT INTO main.ready (task_id, queue, priority, route, attempt, fence, epoch, mark)
SELECT id, queue, priority, kind, 0, 0, 1, mark FROM temp.leasehold_added WHERE delay_us = 0 AND unmet = 0 ORDER BY id;

INSERT INTO main.waiting (task_id, due_at, unmet, attempt, fence, epoch, mark)
SELECT id, CASE WHEN unmet = 0 THEN leasehold_now() + delay_us END, unmet, 0, 0, 1, mark FROM temp.leasehold_added
WHERE delay_us > 0 OR unmet > 0;

INSERT INTO main.event (task_id, at, name, mark) SELECT id, leasehold_now(), 'submitted', mark
FROM temp.leasehold_added ORDER BY id;

SELECT id, kind, key FROM temp.leasehold_added ORDER BY id;

DELETE FROM temp.leasehold_added;
