-- upsert: Write a row in place of the one with its key; the first row of a content is INDEXED, others are DEDUPED.
INSERT INTO download.artifact (key, work_id, artifact_id, url, host, name, path, media_type, size, sha256, state, fetched_at, reason, words)
VALUES (%(key)s, %(work_id)s, %(artifact_id)s, %(url)s, %(host)s, %(name)s, %(path)s, %(media_type)s, %(size)s, %(sha256)s,
    CASE WHEN %(reason)s::text IS NOT NULL THEN %(state)s WHEN EXISTS (
        SELECT 1 FROM download.artifact WHERE sha256 = %(sha256)s AND key <> %(key)s AND reason IS NULL AND state = 'INDEXED'
    ) THEN 'DEDUPED' ELSE 'INDEXED' END, %(fetched_at)s, %(reason)s, %(words)s)
ON CONFLICT (key) DO UPDATE SET work_id = excluded.work_id, artifact_id = excluded.artifact_id, url = excluded.url, host = excluded.host, name = excluded.name, path = excluded.path, media_type = excluded.media_type, size = excluded.size,
    sha256 = excluded.sha256, state = excluded.state, fetched_at = excluded.fetched_at, reason = excluded.reason, words = excluded.words
