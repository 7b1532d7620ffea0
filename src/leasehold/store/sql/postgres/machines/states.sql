-- states: Where a job stands in its machine, and its parts that have moved in it.
SELECT '' AS subject, state FROM leasehold.job_state WHERE job_id = %(job)s
UNION ALL
SELECT subject, name FROM leasehold.state WHERE job_id = %(job)s AND subject <> ''
ORDER BY 1
