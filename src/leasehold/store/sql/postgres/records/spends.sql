-- spends: Read what these tasks of a job have spent.
SELECT spend.task_id, spend.key, spend.name, spend.amount, spend.remaining, spend.fence, spend.at
FROM leasehold.spend
WHERE spend.job_id = %(job)s::bigint
    AND spend.task_id = ANY(ARRAY(SELECT value::bigint FROM jsonb_array_elements_text(%(tasks)s::jsonb)))
ORDER BY spend.task_id, spend.key
