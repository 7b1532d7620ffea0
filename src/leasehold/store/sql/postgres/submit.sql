-- submit: Add jobs that are not there yet, each in the place where it starts.
WITH clock AS MATERIALIZED (SELECT leasehold.leasehold_now() AS now),
item AS MATERIALIZED (
    SELECT nextval('leasehold.task_id_seq') AS id, i.*
    FROM jsonb_to_recordset(%(jobs)s::jsonb) AS i (
        kind text, key text, payload text, queue text, priority smallint, attempts_max smallint,
        lease_ms integer, on_lost text, delay_us bigint, unmet integer)
),
added AS (
    INSERT INTO leasehold.task (id, job_id, kind, key, payload, queue, priority, attempts_max, lease_ms, on_lost, created_at)
    SELECT id, id, kind, key, payload, queue, priority, attempts_max, lease_ms, on_lost, clock.now FROM item, clock
    ON CONFLICT (kind, key) WHERE parent_id IS NULL DO NOTHING
    RETURNING id, kind, key
),
placed AS (
    INSERT INTO leasehold.ready (task_id, queue, priority, route, attempt, fence, epoch)
    SELECT id, item.queue, item.priority, item.kind, 0, 0, 1 FROM added JOIN item USING (id)
    WHERE item.delay_us = 0 AND item.unmet = 0 ORDER BY id
),
held AS (
    INSERT INTO leasehold.waiting (task_id, due_at, unmet, attempt, fence, epoch)
    SELECT id, CASE WHEN item.unmet = 0 THEN clock.now + item.delay_us END, item.unmet, 0, 0, 1
    FROM added JOIN item USING (id), clock
    WHERE item.delay_us > 0 OR item.unmet > 0
),
logged AS (
    INSERT INTO leasehold.event (task_id, at, name)
    SELECT id, clock.now, 'submitted' FROM added, clock
)
SELECT id, kind, key FROM added
