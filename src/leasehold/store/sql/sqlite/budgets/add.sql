-- add: Give new jobs their budgets, each the same, with an event.
-- Differs from PostgreSQL: each step is a statement of its own, since no CTE may write here.
INSERT INTO main.budget (job_id, name, most)
SELECT job.value, item.value ->> 'name', item.value ->> 'most'
FROM json_each(:jobs) AS job CROSS JOIN json_each(:limits) AS item;

UPDATE main.ready SET mark = leasehold_link(mark, leasehold_now(), 'budgeted', NULL, NULL, NULL, :detail)
WHERE task_id IN (SELECT value FROM json_each(:jobs));

UPDATE main.waiting SET mark = leasehold_link(mark, leasehold_now(), 'budgeted', NULL, NULL, NULL, :detail)
WHERE task_id IN (SELECT value FROM json_each(:jobs));

INSERT INTO main.event (task_id, at, name, detail, mark)
SELECT place.task_id, leasehold_now(), 'budgeted', :detail, place.mark
FROM json_each(:jobs) AS job
CROSS JOIN (SELECT task_id, mark FROM main.ready UNION ALL SELECT task_id, mark FROM main.waiting) AS place
    ON place.task_id = job.value
ORDER BY place.task_id;
