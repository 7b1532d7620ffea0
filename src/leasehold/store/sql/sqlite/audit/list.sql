-- list: Read what was done to one row, oldest first.
SELECT id, at, principal, action, noun, noun_id, detail FROM main.audit
WHERE noun = :noun AND noun_id = :noun_id
ORDER BY id LIMIT :most
