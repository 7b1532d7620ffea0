-- next_dispatch_seq: Allocate a session's next dispatch_seq, after the counter and after all that is stored.
UPDATE urm_session SET dispatch_seq = 1 + max(dispatch_seq, (
    SELECT coalesce(max(token.dispatch_seq), 0) FROM urm_dispatch_token AS token
    WHERE token.parent_session_id = :parent_session_id))
WHERE parent_session_id = :parent_session_id
RETURNING dispatch_seq
