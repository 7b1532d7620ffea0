-- claim: Lease up to :most ready tasks to one worker, lane by lane, priority first, then append order.
-- Differs from SQLite: rows are locked with SKIP LOCKED, and the lateral limit keeps any plan from taking more. Other
-- laterals are look-ups by key whatever the statistics: a plan made while the tables were empty is kept for a while.
WITH clock AS MATERIALIZED (SELECT leasehold.leasehold_now() AS now),
lane AS MATERIALIZED (
    SELECT lanes.* FROM ROWS FROM (
        jsonb_to_recordset(%(lanes)s::jsonb) AS (queue text, low smallint, high smallint, after bigint, losses smallint)
    ) WITH ORDINALITY AS lanes (queue, low, high, after, losses, number)
    LEFT JOIN leasehold.queue ON queue.name = lanes.queue
    LEFT JOIN leasehold.queue AS family ON family.name = split_part(lanes.queue, '/', 1) || '/*'
        AND strpos(lanes.queue, '/') > 0
    LEFT JOIN leasehold.queue AS base ON base.name = split_part(lanes.queue, '/', 1)
    WHERE NOT coalesce(queue.paused, false) AND NOT coalesce(family.paused, false) AND NOT coalesce(base.paused, false)
      AND (coalesce(queue.capacity, family.capacity) IS NOT NULL) = %(limited)s::boolean
    ORDER BY lanes.number
),
chosen AS MATERIALIZED (
    SELECT row.ctid AS place FROM lane CROSS JOIN LATERAL (
        SELECT ready.ctid FROM leasehold.ready
        WHERE ready.queue = lane.queue AND ready.priority BETWEEN lane.low AND lane.high
          AND ready.position > lane.after AND (lane.losses IS NULL OR ready.losses <= lane.losses)
          AND ready.route = ANY(ARRAY(SELECT jsonb_array_elements_text(%(routes)s::jsonb)))
        ORDER BY ready.priority DESC, ready.position LIMIT %(most)s::integer FOR UPDATE SKIP LOCKED
    ) AS row
    LIMIT %(most)s::integer
),
taken AS (
    DELETE FROM leasehold.ready WHERE ctid = ANY(ARRAY(SELECT place FROM chosen))
    RETURNING position, task_id, queue, priority, attempt + 1 AS attempt, fence + 1 AS fence, epoch, losses,
        mark
),
facts AS MATERIALIZED (
    SELECT taken.*, own.job_id, own.kind, own.stage, own.segment, coalesce(own.key, job.key) AS key,
        coalesce(own.payload, job.payload) AS payload, own.item, own.attempts_max, own.lease_ms,
        own.parent_id IS NOT NULL AS has_dependents,
        leasehold.chain_link(taken.mark, clock.now, 'claimed', taken.fence, taken.attempt, %(worker)s::integer, NULL)
            AS link
    FROM taken CROSS JOIN clock
    CROSS JOIN LATERAL (SELECT * FROM leasehold.task WHERE task.id = taken.task_id OFFSET 0) AS own
    LEFT JOIN LATERAL (
        SELECT task.key, task.payload FROM leasehold.task
        WHERE task.id = own.job_id AND own.parent_id IS NOT NULL OFFSET 0
    ) AS job ON true
),
leased AS (
    INSERT INTO leasehold.lease (task_id, fence, worker, epoch, attempt, has_dependents, limited, expires_at,
        started_at, losses, position, mark)
    SELECT task_id, fence, %(worker)s::integer, epoch, attempt, has_dependents, %(limited)s::boolean,
        clock.now + lease_ms::bigint * 1000, clock.now, losses, position, link
    FROM facts, clock
),
logged AS (
    INSERT INTO leasehold.event (task_id, at, name, fence, attempt, worker, mark)
    SELECT task_id, clock.now, 'claimed', fence, attempt, %(worker)s::integer, link FROM facts, clock
)
SELECT task_id, fence, attempt, epoch, position, job_id, kind, stage, segment, key, payload, item,
    queue, priority, attempts_max, lease_ms, clock.now AS started_at, losses
FROM facts CROSS JOIN clock ORDER BY priority DESC, position
