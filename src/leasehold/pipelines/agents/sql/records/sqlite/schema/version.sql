-- version: Read how far the schema has been migrated.
SELECT coalesce(max(version), 0) AS version FROM urm_schema
