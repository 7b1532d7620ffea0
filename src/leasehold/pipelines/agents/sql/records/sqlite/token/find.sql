-- find: Read a child's token.
SELECT child_id, parent_session_id, parent_stream_id, parent_seq, queue_seq, dispatch_seq, worker_run_id, phase,
    cancel_request_id
FROM urm_dispatch_token WHERE child_id = :child_id
