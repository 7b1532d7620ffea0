-- page: Return a session's streams by name, after one.
SELECT stream_id, last_seq FROM leasehold_agents.urm_stream
WHERE parent_session_id = %(parent_session_id)s AND stream_id > %(after)s ORDER BY stream_id LIMIT %(rows_max)s
