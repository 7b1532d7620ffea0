-- reserve: Allocate the next sequence numbers of streams, so many of each; return each stream's last one.
INSERT INTO urm_stream AS stream (stream_id, parent_session_id, last_seq)
SELECT value ->> 'stream_id', :parent_session_id, value ->> 'count' FROM json_each(:streams) WHERE true
ON CONFLICT (stream_id) DO UPDATE SET last_seq = stream.last_seq + excluded.last_seq
RETURNING stream_id, last_seq
