-- upsert: Write a row in place of the one with its key; the first row of a content is INDEXED, others are DEDUPED.
-- Deleting first tells the trigger which words are gone.
DELETE FROM artifact WHERE key = :key;

INSERT INTO artifact (key, work_id, artifact_id, url, host, name, path, media_type, size, sha256, state, fetched_at, reason)
VALUES (:key, :work_id, :artifact_id, :url, :host, :name, :path, :media_type, :size, :sha256,
    CASE WHEN :reason IS NOT NULL THEN :state WHEN EXISTS (
        SELECT 1 FROM artifact WHERE sha256 = :sha256 AND reason IS NULL AND state = 'INDEXED'
    ) THEN 'DEDUPED' ELSE 'INDEXED' END, :fetched_at, :reason);
