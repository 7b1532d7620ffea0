-- add: Link a new job to the task that has submitted it, with an event of that task.
-- Differs from PostgreSQL: each step is a statement of its own, since no CTE may write here.
INSERT INTO main.link (job_id, root_id, parent_job_id, parent_id, key, name, depth)
VALUES (:child, :root, :job, :task, :key, :name, :depth);

UPDATE main.lease SET mark = leasehold_link(mark, leasehold_now(), 'linked', fence, attempt, worker, :detail)
WHERE task_id = :task AND fence = :fence;

INSERT INTO main.event (task_id, at, name, fence, attempt, worker, detail, mark)
SELECT task_id, leasehold_now(), 'linked', fence, attempt, worker, :detail, mark FROM main.lease
WHERE task_id = :task AND fence = :fence;
