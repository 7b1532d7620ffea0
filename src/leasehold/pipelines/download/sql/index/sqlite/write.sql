-- write: Keep a row, in place of the one with its key.
-- Deleting first tells the trigger which words are gone.
DELETE FROM artifact WHERE key = :key;

INSERT INTO artifact (key, work_id, artifact_id, url, host, name, path, media_type, size, sha256, state, fetched_at, reason)
VALUES (:key, :work_id, :artifact_id, :url, :host, :name, :path, :media_type, :size, :sha256, :state, :fetched_at, :reason);
