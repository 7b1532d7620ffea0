-- stamp: Store how far the schema has been migrated.
INSERT INTO main.meta (name, value) VALUES ('schema_version', :version)
ON CONFLICT (name) DO UPDATE SET value = excluded.value
