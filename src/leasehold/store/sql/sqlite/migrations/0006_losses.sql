-- 0006_losses: Count lost workers apart from failures, and keep a lost task's place in its queue.
ALTER TABLE waiting ADD COLUMN losses INTEGER NOT NULL DEFAULT 0;
ALTER TABLE waiting ADD COLUMN position INTEGER;
ALTER TABLE ready ADD COLUMN losses INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lease ADD COLUMN losses INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lease ADD COLUMN position INTEGER;
ALTER TABLE worker ADD COLUMN pending_file TEXT;

-- The route of a suspect, a task that lost two workers or more, begins with '!', so that ordinary claims pass it over.
CREATE INDEX ready_suspect ON ready (route) WHERE substr(route, 1, 1) = '!';

CREATE VIEW lease_losses AS
SELECT lease.task_id, lease.fence, lease.worker, lease.expires_at, lease.losses,
    coalesce((
        SELECT CASE WHEN task.stage IS NULL THEN kind.definition ->> 'losses' ELSE (
            SELECT part.value ->> 'losses' FROM json_each(kind.definition, '$.stages') AS part
            WHERE part.value ->> 'name' = task.stage LIMIT 1) END
        FROM kind WHERE kind.name = task.kind), 20) AS losses_max
FROM lease JOIN task ON task.id = lease.task_id;
