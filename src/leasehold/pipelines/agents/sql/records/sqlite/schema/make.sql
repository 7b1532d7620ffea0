-- make: Make the schema that holds the tables.
-- Differs from PostgreSQL: the tables are in the file's only schema.
SELECT 1
