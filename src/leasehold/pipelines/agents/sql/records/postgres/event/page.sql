-- page: Return a stream's events after a sequence number.
SELECT seq, parent_session_id, child_id, event, is_mirror, body FROM leasehold_agents.urm_event
WHERE stream_id = %(stream_id)s AND seq > %(after)s ORDER BY seq LIMIT %(rows_max)s
