-- conclude: End waiting tasks that will not run: those whose parts have all ended, and those that can no longer run.
-- Differs from PostgreSQL: a scratch table carries the rows from step to step, since no CTE may write here.
INSERT INTO temp.leasehold_moved (task_id, epoch, fence, attempt, status, failure, buried, mark)
SELECT waiting.task_id, waiting.epoch, waiting.fence, waiting.attempt, item.value ->> 'status',
    item.value ->> 'failure', item.value ->> 'buried',
    leasehold_link(waiting.mark, leasehold_now(), CASE item.value ->> 'status' WHEN 'DONE' THEN 'done'
        WHEN 'ERROR' THEN 'failed'
        ELSE 'cancelled' END, NULL, NULL, NULL, item.value ->> 'failure')
FROM json_each(:ends) AS item JOIN main.waiting ON waiting.task_id = item.value ->> 'task_id';

DELETE FROM main.waiting WHERE task_id IN (SELECT task_id FROM temp.leasehold_moved);

INSERT INTO main.outcome (task_id, epoch, fence, status, failure, finished_at, mark)
SELECT task_id, epoch, fence, status, failure, leasehold_now(), mark FROM temp.leasehold_moved;

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
FROM temp.leasehold_moved AS dead
WHERE dead.status = 'ERROR' AND dead.buried;

INSERT INTO main.unsettled (task_id)
SELECT moved.task_id FROM temp.leasehold_moved AS moved JOIN main.task ON task.id = moved.task_id
WHERE task.parent_id IS NOT NULL;

INSERT INTO main.event (task_id, at, name, detail, mark)
SELECT task_id, leasehold_now(), CASE status WHEN 'DONE' THEN 'done' WHEN 'ERROR' THEN 'failed' ELSE 'cancelled' END,
    failure, mark
FROM temp.leasehold_moved ORDER BY number;

SELECT task_id, status FROM temp.leasehold_moved ORDER BY number;

DELETE FROM temp.leasehold_moved;
