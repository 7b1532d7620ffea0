-- next_seq: Allocate a stream's next sequence number.
INSERT INTO leasehold_agents.urm_stream AS stream (stream_id, parent_session_id, last_seq)
VALUES (%(stream_id)s, %(parent_session_id)s, 1)
ON CONFLICT (stream_id) DO UPDATE SET last_seq = stream.last_seq + 1
RETURNING last_seq
