-- list_kinds: List the published kinds, the first ones by name.
SELECT name FROM main.kind ORDER BY name LIMIT 1000
