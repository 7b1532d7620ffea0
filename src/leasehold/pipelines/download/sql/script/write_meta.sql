-- write_meta: Record a fact of this file, unless it is there.
INSERT INTO _meta (key, value) VALUES (:key, :value) ON CONFLICT (key) DO NOTHING
