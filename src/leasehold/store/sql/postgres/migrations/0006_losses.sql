-- 0006_losses: Count lost workers apart from failures, and keep a lost task's place in its queue.
ALTER TABLE leasehold.waiting ADD COLUMN losses smallint NOT NULL DEFAULT 0, ADD COLUMN position bigint;
ALTER TABLE leasehold.ready ADD COLUMN losses smallint NOT NULL DEFAULT 0;
ALTER TABLE leasehold.lease ADD COLUMN losses smallint NOT NULL DEFAULT 0, ADD COLUMN position bigint;
ALTER TABLE leasehold.worker ADD COLUMN pending_file text;

-- The route of a suspect, a task that lost two workers or more, begins with '!', so that ordinary claims pass it over.
CREATE INDEX ready_suspect ON leasehold.ready (route) WHERE left(route, 1) = '!';

CREATE VIEW leasehold.lease_losses AS
SELECT lease.task_id, lease.fence, lease.worker, lease.expires_at, lease.losses,
    coalesce((
        SELECT CASE WHEN task.stage IS NULL THEN (kind.definition::jsonb ->> 'losses')::integer ELSE (
            SELECT (part.value ->> 'losses')::integer
            FROM jsonb_array_elements(kind.definition::jsonb -> 'stages') AS part (value)
            WHERE part.value ->> 'name' = task.stage LIMIT 1) END
        FROM leasehold.kind WHERE kind.name = task.kind), 20) AS losses_max
FROM leasehold.lease JOIN leasehold.task ON task.id = lease.task_id;
