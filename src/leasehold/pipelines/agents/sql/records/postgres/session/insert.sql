-- insert: Add a session, unless there is one of this name.
INSERT INTO leasehold_agents.urm_session
    (parent_session_id, parent_stream_id, contract, max_active_children, accounting_mode, coordinator, opened_ts)
VALUES (%(parent_session_id)s, %(parent_stream_id)s, %(contract)s, %(max_active_children)s,
    %(accounting_mode)s, %(coordinator)s, %(ts)s)
ON CONFLICT (parent_session_id) DO NOTHING
RETURNING parent_session_id
