-- conclude: End waiting tasks that will not run: those whose parts have all ended, and those that can no longer run.
WITH clock AS MATERIALIZED (SELECT leasehold.leasehold_now() AS now),
item AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(ends)s::jsonb) AS i (
        task_id bigint, status text, failure text, buried boolean)
),
gone AS (
    DELETE FROM leasehold.waiting USING item WHERE waiting.task_id = item.task_id
    RETURNING waiting.task_id, waiting.epoch, waiting.fence, waiting.attempt, item.status, item.failure, item.buried,
        waiting.mark
),
linked AS MATERIALIZED (
    SELECT *, leasehold.chain_link(mark, now, name, NULL, NULL, NULL, failure) AS link FROM (
        SELECT gone.*, clock.now, CASE status WHEN 'DONE' THEN 'done' WHEN 'ERROR' THEN 'failed'
            ELSE 'cancelled' END AS name
        FROM gone, clock
    ) AS named
),
recorded AS (
    INSERT INTO leasehold.outcome (task_id, epoch, fence, status, failure, finished_at, mark)
    SELECT task_id, epoch, fence, status, failure, now, link FROM linked
),
buried AS (
    INSERT INTO leasehold.dead_letter (task_id, epoch, fence, error_class, failure, attempts, first_failure_at,
        last_failure_at, escalated)
    SELECT dead.task_id, dead.epoch, dead.fence, dead.error_class, dead.failure, dead.attempt,
        coalesce((SELECT min(event.at) FROM leasehold.event WHERE event.task_id = dead.task_id
            AND event.name IN ('retried', 'reclaimed')
                AND event.fence > coalesce((SELECT max(fence) FROM leasehold.dead_letter
                WHERE task_id = dead.task_id), 0)), clock.now),
        clock.now, coalesce(NOT dead.retryable AND leasehold.buried_as(dead.task_id) = dead.error_class, false)
    FROM (
        SELECT *, coalesce(failure::jsonb ->> 'error_class', 'UNCLASSIFIED') AS error_class,
            coalesce((failure::jsonb ->> 'retryable')::boolean, false) AS retryable
        FROM gone WHERE status = 'ERROR' AND buried
    ) AS dead CROSS JOIN clock
),
noted AS (
    INSERT INTO leasehold.unsettled (task_id)
    SELECT gone.task_id FROM gone JOIN leasehold.task ON task.id = gone.task_id WHERE task.parent_id IS NOT NULL
),
logged AS (
    INSERT INTO leasehold.event (task_id, at, name, detail, mark) SELECT task_id, now, name, failure, link FROM linked
)
SELECT task_id, status FROM gone
