-- version: Read how far the schema has been migrated.
SELECT value FROM main.meta WHERE name = 'schema_version'
