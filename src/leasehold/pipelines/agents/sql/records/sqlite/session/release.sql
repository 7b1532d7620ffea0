-- release: Leave a session without a coordinator.
UPDATE urm_session SET coordinator = NULL, recovery_ts = NULL
WHERE parent_session_id = :parent_session_id
RETURNING parent_session_id
