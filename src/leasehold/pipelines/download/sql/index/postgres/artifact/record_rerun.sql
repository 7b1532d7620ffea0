-- record_rerun: Record under which version an artifact is fetched again.
INSERT INTO download.rerun AS known (key, version) VALUES (%(key)s, %(version)s)
ON CONFLICT (key) DO UPDATE SET version = greatest(known.version, excluded.version)
