-- insert: Append events to their streams.
INSERT INTO urm_event (stream_id, seq, parent_session_id, child_id, event, is_mirror, body)
SELECT value ->> 'stream_id', value ->> 'seq', :parent_session_id, value ->> 'child_id', value ->> 'event',
    value ->> 'is_mirror', value ->> 'body'
FROM json_each(:events)
