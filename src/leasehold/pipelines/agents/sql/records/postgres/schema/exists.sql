-- exists: Return whether the database has our tables.
SELECT to_regclass('leasehold_agents.urm_schema') IS NOT NULL AS found
