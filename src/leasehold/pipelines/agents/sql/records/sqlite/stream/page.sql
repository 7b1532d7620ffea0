-- page: Return a session's streams by name, after one.
SELECT stream_id, last_seq FROM urm_stream
WHERE parent_session_id = :parent_session_id AND stream_id > :after ORDER BY stream_id LIMIT :rows_max
