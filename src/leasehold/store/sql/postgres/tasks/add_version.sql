-- add_version: Note that a version of a job was submitted, lock its row until the end, and return the newest.
INSERT INTO leasehold.rerun (kind, key, version) VALUES (%(kind)s::text, %(key)s::text, %(version)s::integer)
ON CONFLICT (kind, key) DO UPDATE SET version = greatest(rerun.version, excluded.version)
RETURNING version
