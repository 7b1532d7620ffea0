-- passed: List jobs whose deadline has passed, and how long they had.
SELECT deadline.job_id, deadline.at - task.created_at AS after_us
FROM leasehold.deadline JOIN leasehold.task ON task.id = deadline.job_id
WHERE deadline.at <= leasehold.leasehold_now() ORDER BY deadline.at LIMIT %(most)s::integer
