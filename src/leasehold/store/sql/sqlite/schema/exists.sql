-- exists: Return whether the database has a schema of ours.
SELECT count(*) = 1 AS found FROM sqlite_schema AS entry
WHERE entry.name = 'meta' AND EXISTS (SELECT 1 FROM sqlite_schema AS other WHERE other.name = 'lease_expiry')
