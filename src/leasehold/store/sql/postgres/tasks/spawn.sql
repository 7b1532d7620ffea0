-- spawn: Add stages or segments below a job, each in the place where it starts.
WITH clock AS MATERIALIZED (SELECT leasehold.leasehold_now() AS now),
item AS MATERIALIZED (
    SELECT nextval('leasehold.task_id_seq') AS id, i.*
    FROM jsonb_to_recordset(%(children)s::jsonb) AS i (
        job_id bigint, parent_id bigint, kind text, stage text, segment integer, item text, each_field text,
        queue text, priority smallint, attempts_max smallint, lease_ms integer, on_lost text,
        delay_us bigint, unmet integer, epoch smallint)
),
added AS (
    INSERT INTO leasehold.task (id, job_id, parent_id, kind, stage, segment, item, each_field,
        queue, priority, attempts_max, lease_ms, on_lost, created_at, epoch)
    SELECT id, job_id, parent_id, kind, stage, segment, item.item, each_field,
        queue, priority, attempts_max, lease_ms, on_lost, clock.now, epoch
    FROM item, clock
    RETURNING id, parent_id, stage, segment
),
marked AS MATERIALIZED (
    SELECT item.*, leasehold.chain_link(leasehold.chain_root(kind, stage, segment, epoch, parent_id, each_field,
        queue, priority,
        attempts_max, lease_ms, on_lost, unmet, NULL, item.item, NULL), clock.now, 'submitted', NULL, NULL, NULL,
            NULL) AS mark
    FROM item, clock
),
placed AS (
    INSERT INTO leasehold.ready (task_id, queue, priority, route, attempt, fence, epoch, mark)
    SELECT id, queue, priority, kind || '/' || stage, 0, 0, 1, mark FROM marked WHERE delay_us = 0 AND unmet = 0
    ORDER BY id
),
held AS (
    INSERT INTO leasehold.waiting (task_id, due_at, unmet, attempt, fence, epoch, mark)
    SELECT id, CASE WHEN unmet = 0 THEN clock.now + delay_us END, unmet, 0, 0, 1, mark FROM marked, clock
    WHERE delay_us > 0 OR unmet > 0
),
logged AS (
    INSERT INTO leasehold.event (task_id, at, name, mark) SELECT id, clock.now, 'submitted', mark FROM marked, clock
)
SELECT id, stage FROM added
