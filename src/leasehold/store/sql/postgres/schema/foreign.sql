-- foreign: Tell whether another program's tables stand where ours would.
SELECT count(*) > 0 AS found FROM pg_class JOIN pg_namespace ON pg_namespace.oid = pg_class.relnamespace
WHERE pg_namespace.nspname = 'leasehold'
