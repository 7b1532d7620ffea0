-- states: Where a job stands in its machine, and its parts that have moved in it.
SELECT '' AS subject, state FROM main.job_state WHERE job_id = :job
UNION ALL
SELECT subject, name FROM main.state WHERE job_id = :job AND subject <> ''
ORDER BY 1
