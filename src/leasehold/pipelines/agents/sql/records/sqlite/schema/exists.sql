-- exists: Return whether the database has our tables.
SELECT count(*) > 0 AS found FROM sqlite_schema WHERE name = 'urm_schema'
