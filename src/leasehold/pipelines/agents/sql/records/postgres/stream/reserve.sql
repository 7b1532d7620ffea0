-- reserve: Allocate the next sequence numbers of streams, so many of each; return each stream's last one.
INSERT INTO leasehold_agents.urm_stream AS stream (stream_id, parent_session_id, last_seq)
SELECT entry.stream_id, %(parent_session_id)s, entry.count
FROM json_to_recordset(%(streams)s::json) AS entry (stream_id text, count bigint)
ON CONFLICT (stream_id) DO UPDATE SET last_seq = stream.last_seq + excluded.last_seq
RETURNING stream_id, last_seq
