-- find: Read a session's row.
SELECT parent_session_id, parent_stream_id, contract, max_active_children, accounting_mode, coordinator, recovery_ts,
    queue_seq, dispatch_seq
FROM urm_session WHERE parent_session_id = :parent_session_id
