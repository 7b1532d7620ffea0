-- submit: Add jobs that are not there yet, each in the place where it starts.
WITH clock AS MATERIALIZED (SELECT leasehold.leasehold_now() AS now),
item AS MATERIALIZED (
    SELECT nextval('leasehold.task_id_seq') AS id, i.*
    FROM jsonb_to_recordset(%(jobs)s::jsonb) AS i (
        kind text, key text, payload text, queue text, priority smallint, attempts_max smallint,
        lease_ms integer, on_lost text, delay_us bigint, unmet integer)
),
added AS (
    INSERT INTO leasehold.task (id, job_id, kind, key, payload, queue, priority, attempts_max, lease_ms, on_lost,
        created_at)
    SELECT id, id, kind, key, payload, queue, priority, attempts_max, lease_ms, on_lost, clock.now FROM item, clock
    ON CONFLICT (kind, key) WHERE parent_id IS NULL DO NOTHING
    RETURNING id, kind, key
),
marked AS MATERIALIZED (
    SELECT item.*, leasehold.chain_link(leasehold.chain_root(item.kind, NULL, NULL, 1::smallint, NULL, NULL, queue,
        priority,
        attempts_max, lease_ms, on_lost, unmet, payload, NULL, item.key), clock.now, 'submitted', NULL, NULL, NULL,
            NULL) AS mark
    FROM added JOIN item USING (id), clock
),
placed AS (
    INSERT INTO leasehold.ready (task_id, queue, priority, route, attempt, fence, epoch, mark)
    SELECT id, queue, priority, kind, 0, 0, 1, mark FROM marked WHERE delay_us = 0 AND unmet = 0 ORDER BY id
),
held AS (
    INSERT INTO leasehold.waiting (task_id, due_at, unmet, attempt, fence, epoch, mark)
    SELECT id, CASE WHEN unmet = 0 THEN clock.now + delay_us END, unmet, 0, 0, 1, mark FROM marked, clock
    WHERE delay_us > 0 OR unmet > 0
),
logged AS (
    INSERT INTO leasehold.event (task_id, at, name, mark)
    SELECT id, clock.now, 'submitted', mark FROM marked, clock
)
SELECT id, kind, key FROM added
