-- add: Give new jobs their budgets, each the same, with an event.
WITH clock AS MATERIALIZED (SELECT leasehold.leasehold_now() AS now),
job AS MATERIALIZED (SELECT value::bigint AS id FROM jsonb_array_elements_text(%(jobs)s::jsonb)),
added AS (
    INSERT INTO leasehold.budget (job_id, name, most)
    SELECT job.id, item.name, item.most FROM job CROSS JOIN jsonb_to_recordset(%(limits)s::jsonb) AS item (
        name text, most bigint)
),
in_ready AS (
    UPDATE leasehold.ready
    SET mark = leasehold.chain_link(mark, clock.now, 'budgeted', NULL, NULL, NULL, %(detail)s::text)
    FROM clock WHERE task_id = ANY(ARRAY(SELECT id FROM job))
    RETURNING task_id, mark
),
in_waiting AS (
    UPDATE leasehold.waiting
    SET mark = leasehold.chain_link(mark, clock.now, 'budgeted', NULL, NULL, NULL, %(detail)s::text)
    FROM clock WHERE task_id = ANY(ARRAY(SELECT id FROM job))
    RETURNING task_id, mark
)
INSERT INTO leasehold.event (task_id, at, name, detail, mark)
SELECT place.task_id, clock.now, 'budgeted', %(detail)s::text, place.mark
FROM (SELECT * FROM in_ready UNION ALL SELECT * FROM in_waiting) AS place, clock ORDER BY place.task_id
