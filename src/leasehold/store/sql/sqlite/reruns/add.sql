-- add: Note that a version of a job was asked for, holding its row until the end; tell the newest.
INSERT INTO main.rerun (kind, key, version) VALUES (:kind, :key, :version)
ON CONFLICT (kind, key) DO UPDATE SET version = max(rerun.version, excluded.version)
RETURNING version
