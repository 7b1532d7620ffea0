-- conclude: End waiting tasks that will not run: those whose parts have all ended, and those that can no longer run.
WITH clock AS MATERIALIZED (SELECT leasehold.leasehold_now() AS now),
item AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(ends)s::jsonb) AS i (task_id bigint, status text, failure text)
),
gone AS (
    DELETE FROM leasehold.waiting USING item WHERE waiting.task_id = item.task_id
    RETURNING waiting.task_id, waiting.epoch, waiting.fence, item.status, item.failure
),
recorded AS (
    INSERT INTO leasehold.outcome (task_id, epoch, fence, status, failure, finished_at)
    SELECT task_id, epoch, fence, status, failure, clock.now FROM gone, clock
),
noted AS (
    INSERT INTO leasehold.unsettled (task_id)
    SELECT gone.task_id FROM gone JOIN leasehold.task ON task.id = gone.task_id WHERE task.parent_id IS NOT NULL
),
logged AS (
    INSERT INTO leasehold.event (task_id, at, name, detail)
    SELECT task_id, clock.now, CASE status WHEN 'DONE' THEN 'done' WHEN 'ERROR' THEN 'failed' ELSE 'cancelled' END, failure
    FROM gone, clock
)
SELECT task_id, status FROM gone
