-- reclaim: Take leases back: to ready or waiting, or to their end. One whose handler never began spends nothing.
-- Suspects get negative positions, so that the last of those that ran together is tried first: what kills at once
-- was begun last.
-- Differs from PostgreSQL: a scratch table carries the rows from step to step, since no CTE may write here.
INSERT OR IGNORE INTO temp.leasehold_ended (task_id, fence, epoch, attempt, worker, has_dependents, limited, why,
    queue, priority, route, status, failure, delay_us, losses, position, began, others, mark)
SELECT lease.task_id, lease.fence, lease.epoch, lease.attempt, lease.worker, lease.has_dependents, lease.limited,
    item.value ->> 'why', task.queue, task.priority,
    CASE WHEN task.stage IS NULL THEN task.kind ELSE task.kind || '/' || task.stage END,
    CASE WHEN lease.cancel_reason IS NOT NULL THEN 'CANCELLED'
         WHEN NOT item.began THEN 'READY'
         WHEN task.on_lost = 'bury' OR item.value ->> 'failure' IS NOT NULL THEN 'ERROR'
         ELSE 'READY' END,
    coalesce(lease.cancel_reason, CASE WHEN task.on_lost = 'bury' THEN :lost ELSE item.value ->> 'failure' END),
    coalesce(item.value ->> 'delay_us', 0), lease.losses + item.began,
    CASE WHEN lease.losses + item.began > 1 THEN -abs(lease.position) ELSE lease.position END, item.began,
    item.value ->> 'others', lease.mark
FROM (
    SELECT value, value ->> 'why' <> 'released' AND coalesce(value ->> 'began', 1) AS began FROM json_each(:reclaims)
) AS item
CROSS JOIN main.lease ON lease.task_id = item.value ->> 'task_id' AND lease.fence = item.value ->> 'fence'
JOIN main.task ON task.id = lease.task_id
WHERE item.value ->> 'why' <> 'expired' OR lease.expires_at <= leasehold_now();

UPDATE temp.leasehold_ended SET name = CASE why WHEN 'released' THEN 'released' ELSE 'reclaimed' END,
    detail = '{' || CASE WHEN why <> 'released' AND NOT began THEN '"began":false,' ELSE '' END
        || CASE WHEN status = 'READY' AND delay_us > 0 THEN '"delay_us":' || delay_us || ',' ELSE '' END
        || CASE WHEN began THEN '"losses":' || losses || ',' || coalesce('"others":' || others || ',', '') ELSE '' END
        || '"status":"' || status || '","why":"' || why || '"}';

UPDATE temp.leasehold_ended SET mark = leasehold_link(mark, leasehold_now(), name, fence, attempt, worker, detail);

DELETE FROM main.lease WHERE task_id IN (SELECT task_id FROM temp.leasehold_ended);

INSERT INTO main.ready (position, task_id, queue, priority, route, attempt, fence, epoch, losses, mark)
SELECT position, task_id, queue, priority, CASE WHEN losses > 1 THEN '!' ELSE '' END || route,
    CASE WHEN began THEN attempt ELSE attempt - 1 END, fence, epoch, losses, mark
FROM temp.leasehold_ended WHERE status = 'READY' AND delay_us <= 0 ORDER BY task_id;

INSERT INTO main.waiting (task_id, due_at, unmet, attempt, fence, epoch, losses, position, mark)
SELECT task_id, leasehold_now() + delay_us, 0, CASE WHEN began THEN attempt ELSE attempt - 1 END, fence, epoch, losses,
    position, mark
FROM temp.leasehold_ended WHERE status = 'READY' AND delay_us > 0;

INSERT INTO main.outcome (task_id, epoch, fence, status, failure, finished_at, mark)
SELECT task_id, epoch, fence, status, failure, leasehold_now(), mark FROM temp.leasehold_ended WHERE status <> 'READY';

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

INSERT INTO main.unsettled (task_id) SELECT task_id FROM temp.leasehold_ended
WHERE has_dependents AND status <> 'READY';

UPDATE main.slot SET task_id = NULL WHERE task_id IN (SELECT task_id FROM temp.leasehold_ended WHERE limited);

INSERT INTO main.event (task_id, at, name, fence, attempt, worker, detail, mark)
SELECT task_id, leasehold_now(), name, fence, attempt, worker, detail, mark FROM temp.leasehold_ended;

SELECT task_id, fence, queue, status FROM temp.leasehold_ended;

DELETE FROM temp.leasehold_ended;
