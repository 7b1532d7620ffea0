-- make: Make the schema that holds the tables.
CREATE SCHEMA IF NOT EXISTS leasehold_agents
