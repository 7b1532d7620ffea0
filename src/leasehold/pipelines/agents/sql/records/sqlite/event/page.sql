-- page: Return a stream's events after a sequence number.
SELECT seq, parent_session_id, child_id, event, is_mirror, body FROM urm_event
WHERE stream_id = :stream_id AND seq > :after ORDER BY seq LIMIT :rows_max
