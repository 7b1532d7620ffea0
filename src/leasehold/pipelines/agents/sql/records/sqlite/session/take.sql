-- take: Give a session that nobody coordinates to a coordinator.
UPDATE urm_session SET coordinator = :coordinator
WHERE parent_session_id = :parent_session_id AND coordinator IS NULL
RETURNING parent_session_id
