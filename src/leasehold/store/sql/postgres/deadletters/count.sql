-- count: Count the dead letters that wait for an operator, and those of them that failed again after a revival.
SELECT count(*) AS open, count(*) FILTER (WHERE escalated) AS escalated FROM leasehold.dead_letter
WHERE state <> 'resolved' AND state = 'open'
