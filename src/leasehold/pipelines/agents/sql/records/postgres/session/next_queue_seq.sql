-- next_queue_seq: Allocate a session's next queue_seq, after the counter and after all that is stored.
UPDATE leasehold_agents.urm_session SET queue_seq = 1 + greatest(queue_seq, (
    SELECT coalesce(max(token.queue_seq), 0) FROM leasehold_agents.urm_dispatch_token AS token
    WHERE token.parent_session_id = %(parent_session_id)s))
WHERE parent_session_id = %(parent_session_id)s
RETURNING queue_seq
