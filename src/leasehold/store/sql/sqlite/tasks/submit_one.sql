-- submit_one: Add one job that can start at once, unless it is there already.
-- Differs from PostgreSQL: each further step asks whether the one before wrote a row, since no CTE may write here.
INSERT INTO main.task (id, job_id, kind, key, payload, queue, priority, attempts_max, lease_ms, on_lost, created_at)
SELECT next.id, next.id, :kind, :key, :payload, :queue, :priority, :attempts_max, :lease_ms, :on_lost, leasehold_now()
FROM (SELECT coalesce((SELECT seq FROM main.sqlite_sequence WHERE name = 'task'), 0) + 1 AS id) AS next
WHERE true
ON CONFLICT (kind, key) WHERE parent_id IS NULL DO NOTHING
RETURNING id, kind, key;

INSERT INTO main.ready (task_id, queue, priority, route, attempt, fence, epoch, mark)
SELECT id, queue, priority, kind, 0, 0, 1,
    leasehold_link(leasehold_root(kind, NULL, NULL, 1, NULL, NULL, queue, priority,
    attempts_max, lease_ms, on_lost, 0, payload, NULL, key), leasehold_now(), 'submitted', NULL, NULL, NULL, NULL)
FROM main.task WHERE id = last_insert_rowid() AND changes() = 1;

INSERT INTO main.event (task_id, at, name, mark)
SELECT task_id, leasehold_now(), 'submitted', mark FROM main.ready
WHERE position = last_insert_rowid() AND changes() = 1;
