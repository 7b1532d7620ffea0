-- list_kinds: List the published kinds, the first ones by name.
SELECT name FROM leasehold.kind ORDER BY name LIMIT 1000
