-- submit_one: Add one job that can start at once, unless it is there already.
WITH added AS (
    INSERT INTO leasehold.task (id, job_id, kind, key, payload, queue, priority, attempts_max, lease_ms, on_lost,
        created_at)
    SELECT id, id, %(kind)s::text, %(key)s::text, %(payload)s::text, %(queue)s::text, %(priority)s::smallint,
        %(attempts_max)s::smallint, %(lease_ms)s::integer, %(on_lost)s::text, leasehold.leasehold_now()
    FROM nextval('leasehold.task_id_seq') AS id
    ON CONFLICT (kind, key) WHERE parent_id IS NULL DO NOTHING
    RETURNING id, kind, key, queue, priority, created_at,
        leasehold.chain_link(leasehold.chain_root(kind, NULL, NULL, 1::smallint, NULL, NULL, queue, priority,
            attempts_max,
            lease_ms, on_lost, 0, payload, NULL, key), created_at, 'submitted', NULL, NULL, NULL, NULL) AS mark
),
placed AS (
    INSERT INTO leasehold.ready (task_id, queue, priority, route, attempt, fence, epoch, mark)
    SELECT id, queue, priority, kind, 0, 0, 1, mark FROM added
),
logged AS (
    INSERT INTO leasehold.event (task_id, at, name, mark) SELECT id, created_at, 'submitted', mark FROM added
)
SELECT id, kind, key FROM added
