-- release: Leave a session without a coordinator.
UPDATE leasehold_agents.urm_session SET coordinator = NULL, recovery_ts = NULL
WHERE parent_session_id = %(parent_session_id)s
RETURNING parent_session_id
