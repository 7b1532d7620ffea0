-- insert: Append an event to its stream.
INSERT INTO urm_event (stream_id, seq, parent_session_id, child_id, event, is_mirror, body)
VALUES (:stream_id, :seq, :parent_session_id, :child_id, :event, :is_mirror, :body)
