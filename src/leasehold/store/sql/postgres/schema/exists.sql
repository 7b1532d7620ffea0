-- exists: Return whether the database has a schema of ours.
SELECT to_regclass('leasehold.meta') IS NOT NULL AND to_regclass('leasehold.lease_expiry') IS NOT NULL AS found
