-- begin_recovery: Store the time of a recovery, unless an interrupted one has stored its own, and return it.
UPDATE urm_session SET recovery_ts = coalesce(recovery_ts, :ts)
WHERE parent_session_id = :parent_session_id
RETURNING recovery_ts
