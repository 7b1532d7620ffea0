-- position: Return a session's parent stream, its last sequence number, and whether the session has a coordinator.
SELECT session.parent_stream_id, coalesce(stream.last_seq, 0) AS last_seq, session.coordinator IS NOT NULL AS is_active
FROM leasehold_agents.urm_session AS session
LEFT JOIN leasehold_agents.urm_stream AS stream ON stream.stream_id = session.parent_stream_id
WHERE session.parent_session_id = %(parent_session_id)s
