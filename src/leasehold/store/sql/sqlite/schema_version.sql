-- schema_version: Read how far the schema has been migrated.
SELECT value FROM meta WHERE name = 'schema_version'
