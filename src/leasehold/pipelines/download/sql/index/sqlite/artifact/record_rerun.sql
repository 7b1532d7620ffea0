-- record_rerun: Record under which version an artifact is fetched again.
INSERT INTO rerun (key, version) VALUES (:key, :version)
ON CONFLICT (key) DO UPDATE SET version = max(version, excluded.version)
