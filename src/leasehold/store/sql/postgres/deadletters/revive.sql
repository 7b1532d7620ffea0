-- revive: Put settled tasks into a new epoch, their old outcomes kept; parents that still wait wait for more.
WITH clock AS MATERIALIZED (SELECT leasehold.leasehold_now() AS now),
item AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(moves)s::jsonb) AS i (task_id bigint, place text, unmet integer, detail text)
),
moved AS (
    DELETE FROM leasehold.outcome USING item WHERE outcome.task_id = item.task_id
    RETURNING outcome.task_id, outcome.epoch, outcome.fence, outcome.status, outcome.output, outcome.failure,
        outcome.finished_at, outcome.mark, item.place, item.unmet, item.detail
),
linked AS MATERIALIZED (
    SELECT moved.*, clock.now, leasehold.chain_link(mark, clock.now, 'revived', fence, NULL, NULL, detail) AS link
    FROM moved, clock
),
kept AS (
    INSERT INTO leasehold.outcome_past (task_id, epoch, fence, status, output, failure, finished_at, mark)
    SELECT task_id, epoch, fence, status, output, failure, finished_at, mark FROM moved
),
lettered AS (
    UPDATE leasehold.dead_letter SET state = 'revived' FROM moved
    WHERE dead_letter.task_id = moved.task_id AND dead_letter.state = 'open'
      AND dead_letter.id <> %(letter)s::bigint
),
overlooked AS (
    DELETE FROM leasehold.unsettled WHERE task_id = ANY(ARRAY(SELECT task_id FROM moved))
),
placed AS (
    INSERT INTO leasehold.ready (task_id, queue, priority, route, attempt, fence, epoch, mark)
    SELECT linked.task_id, task.queue, task.priority,
        CASE WHEN task.stage IS NULL THEN task.kind ELSE task.kind || '/' || task.stage END, 0, linked.fence,
            linked.epoch + 1,
        linked.link
    FROM linked JOIN leasehold.task ON task.id = linked.task_id WHERE linked.place = 'ready' ORDER BY linked.task_id
),
held AS (
    INSERT INTO leasehold.waiting (task_id, due_at, unmet, attempt, fence, epoch, mark)
    SELECT task_id, NULL, unmet, 0, fence, epoch + 1, link FROM linked WHERE place = 'waiting'
),
grown AS (
    UPDATE leasehold.waiting SET unmet = waiting.unmet + item.unmet FROM item
    WHERE waiting.task_id = item.task_id AND item.place = 'grown'
    RETURNING waiting.task_id
),
logged AS (
    INSERT INTO leasehold.event (task_id, at, name, fence, detail, mark)
    SELECT task_id, now, 'revived', fence, detail, link FROM linked ORDER BY task_id
)
SELECT moved.task_id, moved.epoch + 1 AS epoch, moved.place, task.queue
FROM moved JOIN leasehold.task ON task.id = moved.task_id
UNION ALL
SELECT grown.task_id, NULL, 'grown', task.queue FROM grown JOIN leasehold.task ON task.id = grown.task_id
