-- add: Note that a version of a job was asked for, holding its row until the end; tell the newest.
INSERT INTO leasehold.rerun (kind, key, version) VALUES (%(kind)s::text, %(key)s::text, %(version)s::integer)
ON CONFLICT (kind, key) DO UPDATE SET version = greatest(rerun.version, excluded.version)
RETURNING version
