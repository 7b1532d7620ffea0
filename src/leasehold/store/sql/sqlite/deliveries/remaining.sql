-- remaining: Count what these providers have yet to carry, in all and now.
SELECT count(*), coalesce(sum(CASE WHEN due_at <= leasehold_now() THEN 1 ELSE 0 END), 0) FROM main.delivery
WHERE due_at IS NOT NULL AND provider IN (SELECT value FROM json_each(:providers))
