-- next_queue_seq: Allocate a session's next queue_seq, after the counter and after all that is stored.
UPDATE urm_session SET queue_seq = 1 + max(queue_seq, (
    SELECT coalesce(max(token.queue_seq), 0) FROM urm_dispatch_token AS token
    WHERE token.parent_session_id = :parent_session_id))
WHERE parent_session_id = :parent_session_id
RETURNING queue_seq
