-- page: List rows by key.
SELECT key, work_id, artifact_id, url, host, name, path, media_type, size, sha256, state, fetched_at, reason
FROM artifact WHERE key > :after ORDER BY key LIMIT :rows_max
