-- version: Read how far the schema has been migrated.
SELECT coalesce(max(version), 0) AS version FROM leasehold_agents.urm_schema
