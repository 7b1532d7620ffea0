-- claim: Lease up to :most ready tasks to one worker, lane by lane, priority first, then append order.
-- Differs from PostgreSQL: a scratch table carries the rows from step to step, since no CTE may write here.
INSERT INTO temp.leasehold_taken (position, task_id, queue, priority, attempt, fence, epoch, losses, mark)
SELECT ready.position, ready.task_id, ready.queue, ready.priority, ready.attempt + 1, ready.fence + 1, ready.epoch,
    ready.losses, ready.mark
FROM json_each(:lanes) AS lane CROSS JOIN main.ready
WHERE EXISTS (SELECT 1 FROM main.ready) AND ready.position IN (
    SELECT candidate.position FROM main.ready AS candidate
    WHERE candidate.queue = lane.value ->> 'queue'
      AND candidate.priority BETWEEN lane.value ->> 'low' AND lane.value ->> 'high'
      AND candidate.position > lane.value ->> 'after'
      AND (lane.value ->> 'losses' IS NULL OR candidate.losses <= lane.value ->> 'losses')
      AND candidate.route IN (SELECT value FROM json_each(:routes))
    ORDER BY candidate.priority DESC, candidate.position LIMIT :most)
  AND NOT EXISTS (SELECT 1 FROM main.queue WHERE queue.paused AND (queue.name = lane.value ->> 'queue'
    OR (instr(lane.value ->> 'queue', '/') > 0 AND queue.name IN (
        substr(lane.value ->> 'queue', 1, instr(lane.value ->> 'queue', '/')) || '*',
        substr(lane.value ->> 'queue', 1, instr(lane.value ->> 'queue', '/') - 1)))))
  AND EXISTS (SELECT 1 FROM main.queue WHERE queue.capacity IS NOT NULL AND (queue.name = lane.value ->> 'queue'
    OR (instr(lane.value ->> 'queue', '/') > 0
        AND queue.name = substr(lane.value ->> 'queue', 1, instr(lane.value ->> 'queue', '/')) || '*'))) = :limited
ORDER BY lane.key, ready.priority DESC, ready.position LIMIT :most;

UPDATE temp.leasehold_taken SET mark = unhex(made.value ->> 1)
FROM json_each(leasehold_links((
    SELECT json_group_array(json_array(position, hex(mark), leasehold_now(), 'claimed', fence, attempt, :worker, NULL))
    FROM temp.leasehold_taken))) AS made
WHERE leasehold_taken.position = made.value ->> 0;

DELETE FROM main.ready WHERE position IN (SELECT position FROM temp.leasehold_taken);

INSERT INTO main.lease (task_id, fence, worker, epoch, attempt, has_dependents, limited, expires_at, started_at,
    losses, position, mark)
SELECT taken.task_id, taken.fence, :worker, taken.epoch, taken.attempt, task.parent_id IS NOT NULL, :limited,
    leasehold_now() + task.lease_ms * 1000, leasehold_now(), taken.losses, taken.position, taken.mark
FROM temp.leasehold_taken AS taken JOIN main.task ON task.id = taken.task_id;

INSERT INTO main.event (task_id, at, name, fence, attempt, worker, mark)
SELECT task_id, leasehold_now(), 'claimed', fence, attempt, :worker, mark FROM temp.leasehold_taken;

SELECT taken.task_id, taken.fence, taken.attempt, taken.epoch, taken.position, task.job_id, task.kind, task.stage,
    task.segment,
    coalesce(task.key, job.key) AS key, coalesce(task.payload, job.payload) AS payload, task.item,
    taken.queue, taken.priority, task.attempts_max, task.lease_ms, (SELECT leasehold_now()) AS started_at,
    taken.losses
FROM temp.leasehold_taken AS taken JOIN main.task ON task.id = taken.task_id
LEFT JOIN main.task AS job ON task.parent_id IS NOT NULL AND job.id = task.job_id
ORDER BY taken.priority DESC, taken.position;

DELETE FROM temp.leasehold_taken;
