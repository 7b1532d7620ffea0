-- foreign: Return whether another program has tables of our names.
SELECT count(*) > 0 AS found FROM pg_class JOIN pg_namespace ON pg_namespace.oid = pg_class.relnamespace
WHERE pg_namespace.nspname = 'leasehold'
