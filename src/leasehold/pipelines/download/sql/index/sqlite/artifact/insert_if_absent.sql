-- insert_if_absent: Insert a row unless there is one with its key.
INSERT INTO artifact (key, work_id, artifact_id, url, host, name, path, media_type, size, sha256, state, fetched_at, reason)
VALUES (:key, :work_id, :artifact_id, :url, :host, :name, :path, :media_type, :size, :sha256, :state, :fetched_at, :reason)
ON CONFLICT (key) DO NOTHING
