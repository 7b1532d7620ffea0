-- add_version: Note that a version of a job was submitted, lock its row until the end, and return the newest.
INSERT INTO main.rerun (kind, key, version) VALUES (:kind, :key, :version)
ON CONFLICT (kind, key) DO UPDATE SET version = max(rerun.version, excluded.version)
RETURNING version
