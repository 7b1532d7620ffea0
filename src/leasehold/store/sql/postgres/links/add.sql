-- add: Link a new job to the task that has submitted it, with an event of that task.
WITH clock AS MATERIALIZED (SELECT leasehold.leasehold_now() AS now),
added AS (
    INSERT INTO leasehold.link (job_id, root_id, parent_job_id, parent_id, key, name, depth)
    VALUES (%(child)s::bigint, %(root)s::bigint, %(job)s::bigint, %(task)s::bigint, %(key)s::text, %(name)s::text,
        %(depth)s::integer)
),
chained AS (
    UPDATE leasehold.lease
    SET mark = leasehold.chain_link(mark, clock.now, 'linked', fence, attempt, worker, %(detail)s::text)
    FROM clock WHERE task_id = %(task)s::bigint AND fence = %(fence)s::integer
    RETURNING task_id, fence, attempt, worker, mark
)
INSERT INTO leasehold.event (task_id, at, name, fence, attempt, worker, detail, mark)
SELECT task_id, clock.now, 'linked', fence, attempt, worker, %(detail)s::text, mark FROM chained, clock
