-- insert: Append an event to its stream.
INSERT INTO leasehold_agents.urm_event (stream_id, seq, parent_session_id, child_id, event, is_mirror, body)
VALUES (%(stream_id)s, %(seq)s, %(parent_session_id)s, %(child_id)s, %(event)s, %(is_mirror)s, %(body)s)
