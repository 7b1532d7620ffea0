-- version: Read how far the schema has been migrated.
SELECT value FROM leasehold.meta WHERE name = 'schema_version'
