-- prune: Remove jobs that have ended, with all jobs below them and everything on record of them.
-- Differs from PostgreSQL: a scratch table carries the rows from step to step, since no CTE may write here.
INSERT INTO temp.leasehold_moved (task_id, epoch)
SELECT outcome.task_id, 0 FROM main.outcome WHERE outcome.task_id IN (SELECT value FROM json_each(:jobs));

INSERT INTO temp.leasehold_moved (task_id, epoch)
SELECT link.job_id, 0 FROM main.link WHERE link.root_id IN (SELECT task_id FROM temp.leasehold_moved);

INSERT INTO temp.leasehold_moved (task_id, epoch)
SELECT task.id, 1 FROM main.task
WHERE task.job_id IN (SELECT task_id FROM temp.leasehold_moved) AND task.parent_id IS NOT NULL;

SELECT (SELECT count(*) FROM temp.leasehold_moved WHERE epoch = 0) AS jobs,
    (SELECT count(*) FROM temp.leasehold_moved) AS tasks,
    (SELECT count(*) FROM main.event WHERE event.task_id IN (SELECT task_id FROM temp.leasehold_moved)) AS events,
    (SELECT count(*) FROM main.effect WHERE effect.job_id IN (SELECT task_id FROM temp.leasehold_moved)) AS effects;

DELETE FROM main.outcome WHERE task_id IN (SELECT task_id FROM temp.leasehold_moved);

DELETE FROM main.outcome_past WHERE task_id IN (SELECT task_id FROM temp.leasehold_moved);

DELETE FROM main.need WHERE task_id IN (SELECT task_id FROM temp.leasehold_moved);

DELETE FROM main.dead_letter WHERE task_id IN (SELECT task_id FROM temp.leasehold_moved);

DELETE FROM main.delivery WHERE task_id IN (SELECT task_id FROM temp.leasehold_moved);

DELETE FROM main.deadline WHERE job_id IN (SELECT task_id FROM temp.leasehold_moved);

DELETE FROM main.budget WHERE job_id IN (SELECT task_id FROM temp.leasehold_moved);

DELETE FROM main.spend WHERE job_id IN (SELECT task_id FROM temp.leasehold_moved);

DELETE FROM main.link WHERE job_id IN (SELECT task_id FROM temp.leasehold_moved);

DELETE FROM main.state WHERE job_id IN (SELECT task_id FROM temp.leasehold_moved);

DELETE FROM main.effect WHERE job_id IN (SELECT task_id FROM temp.leasehold_moved);

DELETE FROM main.event WHERE task_id IN (SELECT task_id FROM temp.leasehold_moved);

DELETE FROM main.task WHERE id IN (SELECT task_id FROM temp.leasehold_moved);

DELETE FROM temp.leasehold_moved;
