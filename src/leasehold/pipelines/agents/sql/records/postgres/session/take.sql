-- take: Give a session that nobody coordinates to a coordinator.
UPDATE leasehold_agents.urm_session SET coordinator = %(coordinator)s
WHERE parent_session_id = %(parent_session_id)s AND coordinator IS NULL
RETURNING parent_session_id
