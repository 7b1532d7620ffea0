-- remaining: Count what these providers have yet to carry, in all and now.
SELECT count(*), coalesce(sum(CASE WHEN due_at <= leasehold.leasehold_now() THEN 1 ELSE 0 END), 0)
FROM leasehold.delivery
WHERE due_at IS NOT NULL AND provider = ANY(ARRAY(SELECT jsonb_array_elements_text(%(providers)s::jsonb)))
