-- insert_if_absent: Insert a row unless there is one with its key.
INSERT INTO download.artifact (key, work_id, artifact_id, url, host, name, path, media_type, size, sha256, state, fetched_at, reason, words)
VALUES (%(key)s, %(work_id)s, %(artifact_id)s, %(url)s, %(host)s, %(name)s, %(path)s, %(media_type)s, %(size)s, %(sha256)s, %(state)s, %(fetched_at)s, %(reason)s, %(words)s)
ON CONFLICT (key) DO NOTHING
