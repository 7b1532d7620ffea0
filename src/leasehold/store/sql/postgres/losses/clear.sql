-- clear: Take back the losses that tasks have because of one that was convicted; none of them is a suspect for it.
-- One that runs or waits for a retry stays where it is. A row that changed meanwhile, or that another transaction
-- holds, is left for the next time: somebody else may have cleared it.
WITH clock AS MATERIALIZED (SELECT leasehold.leasehold_now() AS now),
lost AS MATERIALIZED (
    SELECT DISTINCT worker FROM leasehold.event
    WHERE task_id = %(task)s::bigint AND name = 'reclaimed' AND detail::jsonb ->> 'losses' IS NOT NULL
),
shared AS MATERIALIZED (
    SELECT event.task_id, count(*)::smallint AS losses, string_agg(event.worker::text, ',' ORDER BY event.id) AS workers
    FROM lost JOIN leasehold.event ON event.worker = lost.worker AND event.name = 'reclaimed'
    WHERE event.task_id <> %(task)s::bigint AND event.detail::jsonb ->> 'losses' IS NOT NULL
      AND event.fence > coalesce((SELECT max(revival.fence) FROM leasehold.event AS revival
          WHERE revival.task_id = event.task_id AND revival.name = 'revived'), 0)
      AND NOT EXISTS (SELECT 1 FROM leasehold.event AS earlier WHERE earlier.task_id = event.task_id
          AND earlier.name = 'cleared' AND earlier.detail::jsonb -> 'workers' @> to_jsonb(event.worker))
    GROUP BY event.task_id
),
seen AS MATERIALIZED (
    SELECT lease.task_id, lease.mark FROM shared JOIN leasehold.lease ON lease.task_id = shared.task_id
    UNION ALL
    SELECT waiting.task_id, waiting.mark FROM shared JOIN leasehold.waiting ON waiting.task_id = shared.task_id
),
is_ready AS MATERIALIZED (
    SELECT ready.task_id FROM shared JOIN leasehold.ready ON ready.task_id = shared.task_id
    WHERE ready.losses >= shared.losses ORDER BY ready.task_id FOR UPDATE OF ready SKIP LOCKED
),
is_waiting AS MATERIALIZED (
    SELECT waiting.task_id FROM shared JOIN leasehold.waiting ON waiting.task_id = shared.task_id
    WHERE waiting.losses >= shared.losses AND waiting.position IS NOT NULL
    ORDER BY waiting.task_id FOR UPDATE OF waiting SKIP LOCKED
),
is_retrying AS MATERIALIZED (
    SELECT waiting.task_id, waiting.position, waiting.attempt, waiting.fence, waiting.epoch, waiting.losses, waiting.mark
    FROM seen JOIN shared ON shared.task_id = seen.task_id JOIN leasehold.waiting ON waiting.task_id = seen.task_id
    WHERE waiting.losses >= shared.losses AND waiting.position IS NULL AND waiting.mark IS NOT DISTINCT FROM seen.mark
    ORDER BY waiting.task_id FOR UPDATE OF waiting SKIP LOCKED
),
is_running AS MATERIALIZED (
    SELECT lease.task_id, lease.position, lease.attempt, lease.fence, lease.epoch, lease.losses, lease.mark
    FROM seen JOIN shared ON shared.task_id = seen.task_id JOIN leasehold.lease ON lease.task_id = seen.task_id
    WHERE lease.losses >= shared.losses AND lease.mark IS NOT DISTINCT FROM seen.mark
    ORDER BY lease.task_id FOR UPDATE OF lease SKIP LOCKED
),
was_ready AS (
    DELETE FROM leasehold.ready WHERE task_id = ANY(ARRAY(SELECT task_id FROM is_ready))
    RETURNING task_id, position, attempt, fence, epoch, losses, mark
),
was_waiting AS (
    DELETE FROM leasehold.waiting WHERE task_id = ANY(ARRAY(SELECT task_id FROM is_waiting))
    RETURNING task_id, position, attempt, fence, epoch, losses, mark
),
linked AS MATERIALIZED (
    SELECT *, leasehold.chain_link(mark, now, 'cleared', fence, attempt, NULL, detail) AS link FROM (
        SELECT moved.task_id, abs(moved.position) AS position, moved.attempt - shared.losses AS attempt, moved.fence,
            moved.epoch, moved.losses - shared.losses AS losses, moved.mark, task.queue, task.priority, moved.status,
            CASE WHEN task.stage IS NULL THEN task.kind ELSE task.kind || '/' || task.stage END AS route, clock.now,
            '{"by":' || %(task)s::bigint || ',"losses":' || moved.losses - shared.losses
                || ',"status":"' || moved.status || '","workers":[' || shared.workers || ']}' AS detail
        FROM (SELECT *, 'READY' AS status FROM was_ready UNION ALL SELECT *, 'READY' FROM was_waiting
            UNION ALL SELECT task_id, position, attempt, fence, epoch, losses, mark, 'NEW' FROM is_retrying
            UNION ALL SELECT task_id, position, attempt, fence, epoch, losses, mark, 'RUNNING' FROM is_running) AS moved
        JOIN shared ON shared.task_id = moved.task_id JOIN leasehold.task ON task.id = moved.task_id CROSS JOIN clock
    ) AS named
),
placed AS (
    INSERT INTO leasehold.ready (position, task_id, queue, priority, route, attempt, fence, epoch, losses, mark)
    OVERRIDING SYSTEM VALUE
    SELECT CASE WHEN losses > 1 THEN -position ELSE position END, task_id, queue, priority,
        CASE WHEN losses > 1 THEN '!' ELSE '' END || route, attempt, fence, epoch, losses, link
    FROM linked WHERE status = 'READY' ORDER BY task_id
),
retrying AS (
    UPDATE leasehold.waiting SET attempt = linked.attempt, losses = linked.losses, mark = linked.link
    FROM linked WHERE linked.status = 'NEW' AND waiting.task_id = linked.task_id
),
running AS (
    UPDATE leasehold.lease SET attempt = linked.attempt, losses = linked.losses, mark = linked.link,
        position = CASE WHEN linked.losses > 1 THEN lease.position ELSE linked.position END
    FROM linked WHERE linked.status = 'RUNNING' AND lease.task_id = linked.task_id
),
logged AS (
    INSERT INTO leasehold.event (task_id, at, name, fence, attempt, detail, mark)
    SELECT task_id, now, 'cleared', fence, attempt, detail, link FROM linked ORDER BY task_id
)
SELECT task_id, queue, status FROM linked ORDER BY task_id
