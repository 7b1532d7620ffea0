-- spend: Debit the budgets of the jobs at the roots, each debit only while its task's lease stands and if it fits.
-- Debits of one budget follow one another in the order given. A budget is locked before it is looked at, so that what is
-- compared is what is changed; it is locked after the leases. The laterals are look-ups by key whatever the statistics.
WITH RECURSIVE clock AS MATERIALIZED (SELECT leasehold.leasehold_now() AS now),
item AS MATERIALIZED (
    SELECT given.*, coalesce(tree.root_id, given.job_id) AS root_id
    FROM ROWS FROM (
        jsonb_to_recordset(%(spends)s::jsonb) AS (
            job_id bigint, key text, task_id bigint, fence integer, name text, amount bigint)
    ) WITH ORDINALITY AS given (job_id, key, task_id, fence, name, amount, number)
    LEFT JOIN LATERAL (
        SELECT link.root_id FROM leasehold.link WHERE link.job_id = given.job_id OFFSET 0
    ) AS tree ON true
),
standing AS MATERIALIZED (
    SELECT lease.task_id, lease.fence FROM leasehold.lease, clock
    WHERE lease.task_id = ANY(ARRAY(SELECT task_id FROM item)) AND lease.expires_at - clock.now > 0
    ORDER BY lease.task_id FOR NO KEY UPDATE OF lease
),
asked AS MATERIALIZED (
    SELECT item.*, known.amount AS known_amount, known.remaining AS known_remaining
    FROM item JOIN standing ON standing.task_id = item.task_id AND standing.fence = item.fence
    LEFT JOIN LATERAL (
        SELECT spend.amount, spend.remaining FROM leasehold.spend
        WHERE spend.job_id = item.job_id AND spend.key = item.key OFFSET 0
    ) AS known ON true
),
held AS MATERIALIZED (
    SELECT budget.job_id, budget.name, budget.most, budget.spent FROM leasehold.budget
    WHERE budget.job_id = ANY(ARRAY(SELECT root_id FROM asked WHERE known_amount IS NULL))
        AND (budget.job_id, budget.name) IN (SELECT root_id, name FROM asked WHERE known_amount IS NULL)
    ORDER BY budget.job_id, budget.name FOR NO KEY UPDATE OF budget
),
turn AS MATERIALIZED (
    SELECT asked.number, asked.root_id, asked.name, asked.amount, held.most, held.spent,
        row_number() OVER (PARTITION BY asked.root_id, asked.name ORDER BY asked.number) AS place
    FROM asked JOIN held ON held.job_id = asked.root_id AND held.name = asked.name
    WHERE asked.known_amount IS NULL
),
walk AS (
    SELECT number, root_id, name, place, most, amount <= most - spent AS fits,
        CASE WHEN amount <= most - spent THEN spent + amount ELSE spent END AS total
    FROM turn WHERE place = 1
    UNION ALL
    SELECT turn.number, turn.root_id, turn.name, turn.place, turn.most, turn.amount <= turn.most - walk.total,
        CASE WHEN turn.amount <= turn.most - walk.total THEN walk.total + turn.amount ELSE walk.total END
    FROM walk JOIN turn ON turn.root_id = walk.root_id AND turn.name = walk.name AND turn.place = walk.place + 1
),
judged AS MATERIALIZED (
    SELECT asked.*, walk.total, coalesce(asked.known_remaining, walk.most - walk.total) AS remaining,
        CASE WHEN asked.known_amount = asked.amount THEN 'again' WHEN asked.known_amount IS NOT NULL THEN 'conflict'
             WHEN walk.number IS NULL THEN 'unknown' WHEN walk.fits THEN 'spent' ELSE 'refused' END AS verdict,
        '{"amount":' || asked.amount || ',"key":"' || asked.key || '","left":' || walk.most - walk.total
            || ',"name":"' || asked.name || '"}' AS detail
    FROM asked LEFT JOIN walk ON walk.number = asked.number
),
debited AS (
    UPDATE leasehold.budget SET spent = last.total
    FROM (
        SELECT root_id, name, max(total) AS total FROM judged WHERE verdict = 'spent' GROUP BY root_id, name
    ) AS last
    WHERE budget.job_id = last.root_id AND budget.name = last.name
),
recorded AS (
    INSERT INTO leasehold.spend (job_id, key, task_id, fence, name, amount, remaining, at)
    SELECT job_id, key, task_id, fence, name, amount, remaining, clock.now FROM judged, clock WHERE verdict = 'spent'
    ON CONFLICT (job_id, key) DO UPDATE SET amount = spend.amount  -- one that was committed since our snapshot
    WHERE leasehold.retry_if(true)
),
chained AS (
    UPDATE leasehold.lease
    SET mark = leasehold.chain_link(lease.mark, clock.now, judged.verdict, lease.fence, lease.attempt, lease.worker,
        judged.detail)
    FROM judged, clock
    WHERE judged.verdict IN ('spent', 'refused') AND lease.task_id = ANY(ARRAY(SELECT task_id FROM judged))
      AND lease.task_id = judged.task_id AND lease.fence = judged.fence
    RETURNING lease.task_id, lease.fence, lease.attempt, lease.worker, lease.mark, judged.verdict, judged.detail,
        judged.number
),
logged AS (
    INSERT INTO leasehold.event (task_id, at, name, fence, attempt, worker, detail, mark)
    SELECT task_id, clock.now, verdict, fence, attempt, worker, detail, mark FROM chained, clock ORDER BY number
)
SELECT task_id, fence, key, verdict,
    CASE verdict WHEN 'conflict' THEN known_amount ELSE remaining END::text AS result
FROM judged
