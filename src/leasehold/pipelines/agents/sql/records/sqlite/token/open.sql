-- open: Return the tokens of a session that are not terminal, in the order of recovery.
SELECT child_id, parent_session_id, parent_stream_id, parent_seq, queue_seq, dispatch_seq, worker_run_id, phase,
    cancel_request_id
FROM urm_dispatch_token
WHERE parent_session_id = :parent_session_id AND phase IN ('queued', 'leased', 'started')
ORDER BY dispatch_seq IS NULL, dispatch_seq, queue_seq LIMIT :rows_max
