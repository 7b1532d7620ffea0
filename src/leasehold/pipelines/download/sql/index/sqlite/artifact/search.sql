-- search: Search rows by their words, best first.
SELECT artifact.key, artifact.work_id, artifact.artifact_id, artifact.url, artifact.host, artifact.name, artifact.path, artifact.media_type, artifact.size, artifact.sha256, artifact.state, artifact.fetched_at, artifact.reason
FROM artifact_text JOIN artifact ON artifact.rowid = artifact_text.rowid
WHERE artifact_text MATCH :words AND artifact.reason IS NULL ORDER BY rank LIMIT :rows_max
