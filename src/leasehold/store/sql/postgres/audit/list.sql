-- list: Read what was done to one row, oldest first.
SELECT id, at, principal, action, noun, noun_id, detail FROM leasehold.audit
WHERE noun = %(noun)s::text AND noun_id = %(noun_id)s::bigint
ORDER BY id LIMIT %(most)s::integer
