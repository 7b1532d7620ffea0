-- stamp: Store how far the schema has been migrated.
INSERT INTO leasehold.meta (name, value) VALUES ('schema_version', %(version)s::text)
ON CONFLICT (name) DO UPDATE SET value = excluded.value
