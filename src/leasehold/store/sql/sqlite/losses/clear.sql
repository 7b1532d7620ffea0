-- clear: Take back the losses that tasks have because of one that was convicted; none of them is a suspect for it.
-- One that runs or waits for a retry stays where it is.
-- Differs from PostgreSQL: a scratch table carries the rows from step to step, since no CTE may write here.
INSERT INTO temp.leasehold_ended (task_id, position, attempt, fence, epoch, losses, status, detail, mark)
WITH lost AS MATERIALIZED (
    SELECT DISTINCT worker FROM main.event
    WHERE task_id = :task AND name = 'reclaimed' AND detail ->> 'losses' IS NOT NULL
),
shared AS MATERIALIZED (
    SELECT event.task_id, count(*) AS losses, group_concat(event.worker, ',' ORDER BY event.id) AS workers
    FROM lost CROSS JOIN main.event ON event.worker = lost.worker AND event.name = 'reclaimed'
    WHERE event.task_id <> :task AND event.detail ->> 'losses' IS NOT NULL
      AND event.fence > coalesce((SELECT max(revival.fence) FROM main.event AS revival
          WHERE revival.task_id = event.task_id AND revival.name = 'revived'), 0)
      AND NOT EXISTS (SELECT 1 FROM main.event AS earlier, json_each(earlier.detail, '$.workers') AS known
          WHERE earlier.task_id = event.task_id AND earlier.name = 'cleared' AND known.value = event.worker)
    GROUP BY event.task_id
)
SELECT moved.task_id, moved.position, moved.attempt - moved.cleared, moved.fence, moved.epoch,
    moved.losses - moved.cleared, moved.status,
    '{"by":' || :task || ',"losses":' || (moved.losses - moved.cleared) || ',"status":"' || moved.status
        || '","workers":[' || moved.workers || ']}',
    moved.mark
FROM (
    SELECT ready.task_id, abs(ready.position) AS position, ready.attempt, ready.fence, ready.epoch, ready.losses, ready.mark,
        shared.losses AS cleared, shared.workers, 'READY' AS status
    FROM shared CROSS JOIN main.ready ON ready.task_id = shared.task_id WHERE ready.losses >= shared.losses
    UNION ALL
    SELECT waiting.task_id, abs(waiting.position), waiting.attempt, waiting.fence, waiting.epoch, waiting.losses,
        waiting.mark, shared.losses, shared.workers, CASE WHEN waiting.position IS NULL THEN 'NEW' ELSE 'READY' END
    FROM shared CROSS JOIN main.waiting ON waiting.task_id = shared.task_id WHERE waiting.losses >= shared.losses
    UNION ALL
    SELECT lease.task_id, abs(lease.position), lease.attempt, lease.fence, lease.epoch, lease.losses, lease.mark,
        shared.losses, shared.workers, 'RUNNING'
    FROM shared CROSS JOIN main.lease ON lease.task_id = shared.task_id WHERE lease.losses >= shared.losses
) AS moved ORDER BY moved.task_id;

UPDATE temp.leasehold_ended SET mark = leasehold_link(mark, leasehold_now(), 'cleared', fence, attempt, NULL, detail);

DELETE FROM main.ready WHERE task_id IN (SELECT task_id FROM temp.leasehold_ended WHERE status = 'READY');

DELETE FROM main.waiting WHERE task_id IN (SELECT task_id FROM temp.leasehold_ended WHERE status = 'READY');

UPDATE main.waiting SET attempt = cleared.attempt, losses = cleared.losses, mark = cleared.mark
FROM temp.leasehold_ended AS cleared WHERE cleared.status = 'NEW' AND waiting.task_id = cleared.task_id;

UPDATE main.lease SET attempt = cleared.attempt, losses = cleared.losses, mark = cleared.mark,
    position = CASE WHEN cleared.losses > 1 THEN lease.position ELSE cleared.position END
FROM temp.leasehold_ended AS cleared WHERE cleared.status = 'RUNNING' AND lease.task_id = cleared.task_id;

INSERT INTO main.ready (position, task_id, queue, priority, route, attempt, fence, epoch, losses, mark)
SELECT CASE WHEN cleared.losses > 1 THEN -cleared.position ELSE cleared.position END, cleared.task_id, task.queue,
    task.priority, CASE WHEN cleared.losses > 1 THEN '!' ELSE '' END
        || CASE WHEN task.stage IS NULL THEN task.kind ELSE task.kind || '/' || task.stage END,
    cleared.attempt, cleared.fence, cleared.epoch, cleared.losses, cleared.mark
FROM temp.leasehold_ended AS cleared JOIN main.task ON task.id = cleared.task_id WHERE cleared.status = 'READY'
ORDER BY cleared.task_id;

INSERT INTO main.event (task_id, at, name, fence, attempt, detail, mark)
SELECT task_id, leasehold_now(), 'cleared', fence, attempt, detail, mark FROM temp.leasehold_ended ORDER BY task_id;

SELECT cleared.task_id, task.queue, cleared.status FROM temp.leasehold_ended AS cleared JOIN main.task ON task.id = cleared.task_id
ORDER BY cleared.task_id;

DELETE FROM temp.leasehold_ended;
