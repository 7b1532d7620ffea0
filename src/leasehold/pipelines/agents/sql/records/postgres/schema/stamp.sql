-- stamp: Store how far the schema has been migrated.
INSERT INTO leasehold_agents.urm_schema (version) VALUES (%(version)s)
