-- spawn: Add stages or segments below a job, each in the place where it starts.
-- Differs from PostgreSQL: a scratch table carries the rows from step to step, since no CTE may write here.
INSERT INTO temp.leasehold_added (id, job_id, parent_id, kind, stage, segment, item, each_field,
    queue, priority, attempts_max, lease_ms, on_lost, delay_us, unmet, epoch, mark)
SELECT coalesce((SELECT seq FROM main.sqlite_sequence WHERE name = 'task'), 0) + item.key + 1,
    item.value ->> 'job_id', item.value ->> 'parent_id', item.value ->> 'kind', item.value ->> 'stage',
    item.value ->> 'segment', item.value ->> 'item', item.value ->> 'each_field', item.value ->> 'queue',
    item.value ->> 'priority', item.value ->> 'attempts_max', item.value ->> 'lease_ms', item.value ->> 'on_lost',
    item.value ->> 'delay_us', item.value ->> 'unmet', item.value ->> 'epoch',
    leasehold_link(leasehold_root(item.value ->> 'kind', item.value ->> 'stage', item.value ->> 'segment',
        item.value ->> 'epoch',
        item.value ->> 'parent_id', item.value ->> 'each_field', item.value ->> 'queue', item.value ->> 'priority',
        item.value ->> 'attempts_max', item.value ->> 'lease_ms', item.value ->> 'on_lost', item.value ->> 'unmet',
            NULL,
        item.value ->> 'item', NULL), leasehold_now(), 'submitted', NULL, NULL, NULL, NULL)
FROM json_each(:children) AS item;

INSERT INTO main.task (id, job_id, parent_id, kind, stage, segment, item, each_field,
    queue, priority, attempts_max, lease_ms, on_lost, created_at, epoch)
SELECT id, job_id, parent_id, kind, stage, segment, item, each_field,
    queue, priority, attempts_max, lease_ms, on_lost, leasehold_now(), epoch
FROM temp.leasehold_added ORDER BY id;

INSERT INTO main.ready (task_id, queue, priority, route, attempt, fence, epoch, mark)
SELECT id, queue, priority, kind || '/' || stage, 0, 0, 1, mark FROM temp.leasehold_added
WHERE delay_us = 0 AND unmet = 0 ORDER BY id;

INSERT INTO main.waiting (task_id, due_at, unmet, attempt, fence, epoch, mark)
SELECT id, CASE WHEN unmet = 0 THEN leasehold_now() + delay_us END, unmet, 0, 0, 1, mark FROM temp.leasehold_added
WHERE delay_us > 0 OR unmet > 0;

INSERT INTO main.event (task_id, at, name, mark) SELECT id, leasehold_now(), 'submitted', mark
FROM temp.leasehold_added ORDER BY id;

SELECT id, stage FROM temp.leasehold_added ORDER BY id;

DELETE FROM temp.leasehold_added;
