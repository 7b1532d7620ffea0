-- reclaim: Take leases back: to ready or waiting, or to their end. One whose handler never began spends nothing.
-- Suspects get negative positions, so that the last of those that ran together is tried first: what kills at once
-- was begun last.
-- One that another transaction holds is left for the next sweep: a frozen holder keeps its own task waiting, and no
-- other.
WITH clock AS MATERIALIZED (SELECT leasehold.leasehold_now() AS now),
item AS MATERIALIZED (
    SELECT task_id, fence, why, why <> 'released' AND coalesce(began, true) AS began,
        coalesce(delay_us, 0) AS delay_us, failure, others
    FROM jsonb_to_recordset(%(reclaims)s::jsonb) AS i (
        task_id bigint, fence integer, why text, began boolean, delay_us bigint, failure text, others text)
),
found AS MATERIALIZED (
    SELECT lease.task_id, lease.fence, lease.epoch, lease.attempt, lease.worker, lease.has_dependents, lease.limited,
        lease.cancel_reason, lease.mark, item.why,
        CASE WHEN lease.losses + item.began::integer > 1 THEN -abs(lease.position) ELSE lease.position END AS position, item.delay_us, item.others, task.queue, task.priority,
        task.kind, task.stage, item.began, lease.losses + item.began::integer AS losses,
        CASE WHEN lease.cancel_reason IS NOT NULL THEN 'CANCELLED'
             WHEN NOT item.began THEN 'READY'
             WHEN task.on_lost = 'bury' OR item.failure IS NOT NULL THEN 'ERROR'
             ELSE 'READY' END AS status,
        CASE WHEN task.on_lost = 'bury' THEN %(lost)s::text ELSE item.failure END AS failure
    FROM item JOIN leasehold.lease ON lease.task_id = item.task_id AND lease.fence = item.fence
    JOIN leasehold.task ON task.id = lease.task_id, clock
    WHERE item.why <> 'expired' OR lease.expires_at <= clock.now
    ORDER BY lease.task_id
    FOR UPDATE OF lease SKIP LOCKED
),
gone AS (
    DELETE FROM leasehold.lease USING found WHERE lease.task_id = found.task_id AND lease.fence = found.fence
    RETURNING found.*
),
linked AS MATERIALIZED (
    SELECT *, leasehold.chain_link(mark, now, name, fence, attempt, worker, detail) AS link FROM (
        SELECT gone.*, clock.now, CASE why WHEN 'released' THEN 'released' ELSE 'reclaimed' END AS name,
            '{' || CASE WHEN why <> 'released' AND NOT began THEN '"began":false,' ELSE '' END
                || CASE WHEN status = 'READY' AND delay_us > 0 THEN '"delay_us":' || delay_us || ',' ELSE '' END
                || CASE WHEN began THEN '"losses":' || losses || ',' ELSE '' END
                || CASE WHEN began THEN coalesce('"others":' || others || ',', '') ELSE '' END
                || '"status":"' || status || '","why":"' || why || '"}' AS detail
        FROM gone, clock
    ) AS named
),
requeued AS (
    INSERT INTO leasehold.ready (position, task_id, queue, priority, route, attempt, fence, epoch, losses, mark)
    OVERRIDING SYSTEM VALUE
    SELECT coalesce(position, nextval(pg_get_serial_sequence('leasehold.ready', 'position'))), task_id, queue, priority,
        CASE WHEN losses > 1 THEN '!' ELSE '' END || CASE WHEN stage IS NULL THEN kind ELSE kind || '/' || stage END,
        CASE WHEN began THEN attempt ELSE attempt - 1 END, fence, epoch, losses, link
    FROM linked WHERE status = 'READY' AND delay_us <= 0 ORDER BY task_id
),
postponed AS (
    INSERT INTO leasehold.waiting (task_id, due_at, unmet, attempt, fence, epoch, losses, position, mark)
    SELECT task_id, now + delay_us, 0, CASE WHEN began THEN attempt ELSE attempt - 1 END, fence, epoch, losses,
        position, link
    FROM linked WHERE status = 'READY' AND delay_us > 0
),
recorded AS (
    INSERT INTO leasehold.outcome (task_id, epoch, fence, status, failure, finished_at, mark)
    SELECT task_id, epoch, fence, status, coalesce(cancel_reason, failure), now, link FROM linked
    WHERE status <> 'READY'
),
buried AS (
    INSERT INTO leasehold.dead_letter (task_id, epoch, fence, error_class, failure, attempts, first_failure_at,
        last_failure_at, escalated)
    SELECT dead.task_id, dead.epoch, dead.fence, dead.error_class, dead.failure, dead.attempt,
        coalesce((SELECT min(event.at) FROM leasehold.event WHERE event.task_id = dead.task_id
            AND event.name IN ('retried', 'reclaimed')
                AND event.fence > coalesce((SELECT max(fence) FROM leasehold.dead_letter
                WHERE task_id = dead.task_id), 0)), clock.now),
        clock.now, coalesce(NOT dead.retryable AND leasehold.buried_as(dead.task_id) = dead.error_class, false)
    FROM (
        SELECT *, coalesce(failure::jsonb ->> 'error_class', 'UNCLASSIFIED') AS error_class,
            coalesce((failure::jsonb ->> 'retryable')::boolean, false) AS retryable
        FROM gone WHERE status = 'ERROR'
    ) AS dead CROSS JOIN clock
),
noted AS (
    INSERT INTO leasehold.unsettled (task_id) SELECT task_id FROM gone WHERE has_dependents AND status <> 'READY'
),
freed AS (
    UPDATE leasehold.slot SET task_id = NULL WHERE task_id = ANY(ARRAY(SELECT task_id FROM gone WHERE limited))
),
logged AS (
    INSERT INTO leasehold.event (task_id, at, name, fence, attempt, worker, detail, mark)
    SELECT task_id, now, name, fence, attempt, worker, detail, link FROM linked
)
SELECT task_id, fence, queue, status FROM gone
