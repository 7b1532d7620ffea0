-- spend: Debit the budgets of the jobs at the roots, each debit only while its task's lease stands and if it fits.
-- Differs from PostgreSQL: a scratch table carries the rows from step to step, since no CTE may write here.
INSERT INTO temp.leasehold_debit (number, job_id, key, task_id, fence, attempt, worker, root_id, name, amount, most,
    spent, known_amount, remaining, verdict, mark)
SELECT item.key, item.value ->> 'job_id', item.value ->> 'key', lease.task_id, lease.fence, lease.attempt, lease.worker,
    coalesce(link.root_id, item.value ->> 'job_id'), item.value ->> 'name', item.value ->> 'amount', budget.most,
    budget.spent, known.amount, known.remaining,
    CASE WHEN known.amount = item.value ->> 'amount' THEN 'again' WHEN known.amount IS NOT NULL THEN 'conflict'
         WHEN budget.most IS NULL THEN 'unknown' END,
    lease.mark
FROM json_each(:spends) AS item
CROSS JOIN main.lease ON lease.task_id = item.value ->> 'task_id' AND lease.fence = item.value ->> 'fence'
LEFT JOIN main.link ON link.job_id = item.value ->> 'job_id'
LEFT JOIN main.budget ON budget.job_id = coalesce(link.root_id, item.value ->> 'job_id')
    AND budget.name = item.value ->> 'name'
LEFT JOIN main.spend AS known ON known.job_id = item.value ->> 'job_id' AND known.key = item.value ->> 'key'
WHERE lease.expires_at > leasehold_now();

UPDATE temp.leasehold_debit SET verdict = CASE WHEN judged.fits THEN 'spent' ELSE 'refused' END, total = judged.total,
    remaining = judged.most - judged.total,
    detail = '{"amount":' || leasehold_debit.amount || ',"key":"' || leasehold_debit.key || '","left":'
        || (judged.most - judged.total) || ',"name":"' || leasehold_debit.name || '"}'
FROM (
    WITH RECURSIVE turn AS MATERIALIZED (
        SELECT number, root_id, name, amount, most, spent,
            row_number() OVER (PARTITION BY root_id, name ORDER BY number) AS place
        FROM temp.leasehold_debit WHERE verdict IS NULL
    ),
    walk AS (
        SELECT number, root_id, name, place, most, amount <= most - spent AS fits,
            CASE WHEN amount <= most - spent THEN spent + amount ELSE spent END AS total
        FROM turn WHERE place = 1
        UNION ALL
        SELECT turn.number, turn.root_id, turn.name, turn.place, turn.most, turn.amount <= turn.most - walk.total,
            CASE WHEN turn.amount <= turn.most - walk.total THEN walk.total + turn.amount ELSE walk.total END
        FROM walk JOIN turn ON turn.root_id = walk.root_id AND turn.name = walk.name AND turn.place = walk.place + 1
    )
    SELECT number, most, fits, total FROM walk
) AS judged
WHERE leasehold_debit.number = judged.number;

UPDATE temp.leasehold_debit SET mark = unhex(made.value ->> 1)
FROM json_each(leasehold_links((
    SELECT json_group_array(json_array(number, hex(mark), leasehold_now(), verdict, fence, attempt, worker, detail))
    FROM temp.leasehold_debit WHERE verdict IN ('spent', 'refused')))) AS made
WHERE leasehold_debit.number = made.value ->> 0;

UPDATE main.budget SET spent = last.total
FROM (
    SELECT root_id, name, max(total) AS total FROM temp.leasehold_debit WHERE verdict = 'spent' GROUP BY root_id, name
) AS last
WHERE budget.job_id = last.root_id AND budget.name = last.name;

INSERT INTO main.spend (job_id, key, task_id, fence, name, amount, remaining, at)
SELECT job_id, key, task_id, fence, name, amount, remaining, leasehold_now() FROM temp.leasehold_debit
WHERE verdict = 'spent';

UPDATE main.lease SET mark = debit.mark
FROM temp.leasehold_debit AS debit
WHERE debit.verdict IN ('spent', 'refused') AND lease.task_id = debit.task_id AND lease.fence = debit.fence;

INSERT INTO main.event (task_id, at, name, fence, attempt, worker, detail, mark)
SELECT task_id, leasehold_now(), verdict, fence, attempt, worker, detail, mark FROM temp.leasehold_debit
WHERE verdict IN ('spent', 'refused') ORDER BY number;

SELECT task_id, fence, key, verdict,
    CAST(CASE verdict WHEN 'conflict' THEN known_amount ELSE remaining END AS TEXT) AS result
FROM temp.leasehold_debit;

DELETE FROM temp.leasehold_debit;
