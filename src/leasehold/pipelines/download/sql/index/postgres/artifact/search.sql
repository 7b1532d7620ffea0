-- search: Search rows by their words, best first.
SELECT key, work_id, artifact_id, url, host, name, path, media_type, size, sha256, state, fetched_at, reason
FROM download.artifact, to_tsquery('simple', %(words)s) AS query
WHERE lexemes @@ query AND reason IS NULL ORDER BY ts_rank(lexemes, query) DESC, key LIMIT %(rows_max)s
