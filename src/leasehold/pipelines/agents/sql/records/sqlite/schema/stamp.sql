-- stamp: Store how far the schema has been migrated.
INSERT INTO urm_schema (version) VALUES (:version)
