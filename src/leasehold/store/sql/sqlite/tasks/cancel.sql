-- cancel: End the waiting and ready tasks of a job and of all jobs below it, and ask their running ones to stop.
-- Differs from PostgreSQL: scratch tables carry the rows from step to step, since no CTE may write here.
INSERT INTO temp.leasehold_member (id)
WITH RECURSIVE tree AS (
    SELECT id AS job_id FROM main.task WHERE id = :job AND parent_id IS NULL
    UNION ALL
    SELECT link.job_id FROM tree JOIN main.link ON link.parent_job_id = tree.job_id
)
SELECT job_id FROM tree
UNION ALL
SELECT id FROM main.task WHERE job_id IN (SELECT job_id FROM tree) AND parent_id IS NOT NULL;

INSERT INTO temp.leasehold_moved (task_id, epoch, fence, mark)
SELECT place.task_id, place.epoch, place.fence,
    leasehold_link(place.mark, leasehold_now(), 'cancelled', NULL, NULL, NULL, :reason)
FROM (
    SELECT task_id, epoch, fence, mark FROM main.waiting UNION ALL SELECT task_id, epoch, fence, mark FROM main.ready
) AS place
WHERE place.task_id IN (SELECT id FROM temp.leasehold_member)
ORDER BY place.task_id;

DELETE FROM main.waiting WHERE task_id IN (SELECT task_id FROM temp.leasehold_moved);

DELETE FROM main.ready WHERE task_id IN (SELECT task_id FROM temp.leasehold_moved);

INSERT INTO main.outcome (task_id, epoch, fence, status, failure, finished_at, mark)
SELECT task_id, epoch, fence, 'CANCELLED', :reason, leasehold_now(), mark FROM temp.leasehold_moved;

INSERT INTO main.event (task_id, at, name, detail, mark)
SELECT task_id, leasehold_now(), 'cancelled', :reason, mark FROM temp.leasehold_moved ORDER BY number;

SELECT (SELECT count(*) FROM temp.leasehold_moved) AS ended, (SELECT count(*) FROM main.lease
    WHERE cancel_reason IS NULL AND task_id IN (SELECT id FROM temp.leasehold_member)) AS asked;

INSERT INTO main.event (task_id, at, name, fence, attempt, worker, detail, mark)
SELECT task_id, leasehold_now(), 'asked', fence, attempt, worker, :reason,
    leasehold_link(mark, leasehold_now(), 'asked', fence, attempt, worker, :reason)
FROM main.lease
WHERE cancel_reason IS NULL AND task_id IN (SELECT id FROM temp.leasehold_member)
ORDER BY task_id;

UPDATE main.lease SET cancel_reason = :reason,
    mark = leasehold_link(mark, leasehold_now(), 'asked', fence, attempt, worker, :reason)
WHERE cancel_reason IS NULL AND task_id IN (SELECT id FROM temp.leasehold_member);

DELETE FROM temp.leasehold_moved;

DELETE FROM temp.leasehold_member;
