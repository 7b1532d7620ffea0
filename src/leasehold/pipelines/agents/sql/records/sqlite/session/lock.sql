-- lock: Lock a session's row until this transaction ends, and read it.
-- Differs from PostgreSQL: BEGIN IMMEDIATE has locked it already.
SELECT parent_session_id, parent_stream_id, contract, max_active_children, accounting_mode, coordinator, recovery_ts,
    queue_seq, dispatch_seq
FROM urm_session WHERE parent_session_id = :parent_session_id
