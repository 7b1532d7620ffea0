-- budgets: Read a job's own budgets, and what it and all jobs below it have paid.
SELECT budget.name, budget.most, budget.spent, coalesce((
        SELECT sum(spend.amount) FROM leasehold.spend
        WHERE spend.name = budget.name AND spend.job_id = ANY(ARRAY(
            SELECT link.job_id FROM leasehold.link WHERE link.root_id = %(job)s::bigint
            UNION ALL SELECT %(job)s::bigint))), 0)::bigint AS paid
FROM leasehold.budget WHERE budget.job_id = %(job)s::bigint ORDER BY budget.name
