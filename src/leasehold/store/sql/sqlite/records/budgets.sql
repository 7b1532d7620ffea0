-- budgets: Read a job's own budgets, and what it and all jobs below it have paid.
SELECT budget.name, budget.most, budget.spent, coalesce((
        SELECT sum(spend.amount) FROM main.spend
        WHERE spend.name = budget.name AND spend.job_id IN (
            SELECT link.job_id FROM main.link WHERE link.root_id = :job UNION ALL SELECT :job)), 0) AS paid
FROM main.budget WHERE budget.job_id = :job ORDER BY budget.name
