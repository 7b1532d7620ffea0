-- count_part_outcomes: Count how the parts of these tasks ended, with the first trouble among them.
WITH part AS MATERIALIZED (
    SELECT task.parent_id, task.id, task.stage, task.segment, outcome.status, outcome.failure,
        row_number() OVER (
            PARTITION BY task.parent_id ORDER BY CASE outcome.status WHEN 'ERROR' THEN 0 ELSE 1 END, task.id
        ) AS number,
        count(*) FILTER (WHERE outcome.status = 'ERROR') OVER (PARTITION BY task.parent_id) AS errors,
        count(*) OVER (PARTITION BY task.parent_id) AS troubles
    FROM jsonb_array_elements_text(%(tasks)s::jsonb) AS item (task_id)
    JOIN leasehold.task ON task.parent_id = item.task_id::bigint
    JOIN leasehold.outcome ON outcome.task_id = task.id AND outcome.status <> 'DONE'
)
SELECT parent_id, errors, troubles - errors AS cancels, stage, segment, failure FROM part WHERE number = 1
