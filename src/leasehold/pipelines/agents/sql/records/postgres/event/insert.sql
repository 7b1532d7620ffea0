-- insert: Append events to their streams.
INSERT INTO leasehold_agents.urm_event (stream_id, seq, parent_session_id, child_id, event, is_mirror, body)
SELECT entry.stream_id, entry.seq, %(parent_session_id)s, entry.child_id, entry.event, entry.is_mirror, entry.body
FROM json_to_recordset(%(events)s::json)
    AS entry (stream_id text, seq bigint, child_id text, event text, is_mirror integer, body text)
