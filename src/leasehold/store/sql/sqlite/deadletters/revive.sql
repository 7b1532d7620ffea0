-- revive: Put settled tasks into a new epoch, their old outcomes kept; parents that still wait wait for more.
-- Differs from PostgreSQL: a scratch table carries the rows from step to step, since no CTE may write here.
INSERT INTO temp.leasehold_revived (task_id, epoch, fence, place, unmet, detail, mark)
SELECT outcome.task_id, outcome.epoch, outcome.fence, item.value ->> 'place', item.value ->> 'unmet',
    item.value ->> 'detail',
    leasehold_link(outcome.mark, leasehold_now(), 'revived', outcome.fence, NULL, NULL, item.value ->> 'detail')
FROM json_each(:moves) AS item JOIN main.outcome ON outcome.task_id = item.value ->> 'task_id'
ORDER BY outcome.task_id;

INSERT INTO main.outcome_past (task_id, epoch, fence, status, output, failure, finished_at, mark)
SELECT outcome.task_id, outcome.epoch, outcome.fence, outcome.status, outcome.output, outcome.failure,
    outcome.finished_at,
    outcome.mark
FROM main.outcome WHERE outcome.task_id IN (SELECT task_id FROM temp.leasehold_revived);

DELETE FROM main.outcome WHERE task_id IN (SELECT task_id FROM temp.leasehold_revived);

UPDATE main.dead_letter SET state = 'revived'
WHERE task_id IN (SELECT task_id FROM temp.leasehold_revived) AND state = 'open' AND id <> :letter;

DELETE FROM main.unsettled WHERE task_id IN (SELECT task_id FROM temp.leasehold_revived);

INSERT INTO main.ready (task_id, queue, priority, route, attempt, fence, epoch, mark)
SELECT revived.task_id, task.queue, task.priority,
    CASE WHEN task.stage IS NULL THEN task.kind ELSE task.kind || '/' || task.stage END, 0, revived.fence,
        revived.epoch + 1,
    revived.mark
FROM temp.leasehold_revived AS revived JOIN main.task ON task.id = revived.task_id
WHERE revived.place = 'ready' ORDER BY revived.task_id;

INSERT INTO main.waiting (task_id, due_at, unmet, attempt, fence, epoch, mark)
SELECT task_id, NULL, unmet, 0, fence, epoch + 1, mark FROM temp.leasehold_revived WHERE place = 'waiting';

INSERT INTO main.event (task_id, at, name, fence, detail, mark)
SELECT task_id, leasehold_now(), 'revived', fence, detail, mark
FROM temp.leasehold_revived ORDER BY task_id;

INSERT INTO temp.leasehold_revived (task_id, epoch, place, unmet)
SELECT waiting.task_id, NULL, 'grown', item.value ->> 'unmet'
FROM json_each(:moves) AS item JOIN main.waiting ON waiting.task_id = item.value ->> 'task_id'
WHERE item.value ->> 'place' = 'grown';

UPDATE main.waiting SET unmet = waiting.unmet + grown.unmet
FROM temp.leasehold_revived AS grown WHERE waiting.task_id = grown.task_id AND grown.place = 'grown';

SELECT revived.task_id, revived.epoch + 1 AS epoch, revived.place, task.queue
FROM temp.leasehold_revived AS revived JOIN main.task ON task.id = revived.task_id;

DELETE FROM temp.leasehold_revived;
