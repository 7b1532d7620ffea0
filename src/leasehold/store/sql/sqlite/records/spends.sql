-- spends: Read what these tasks of a job have spent.
SELECT spend.task_id, spend.key, spend.name, spend.amount, spend.remaining, spend.fence, spend.at
FROM main.spend
WHERE spend.job_id = :job AND spend.task_id IN (SELECT value FROM json_each(:tasks))
ORDER BY spend.task_id, spend.key
