-- lease: Lease a queued child.
UPDATE urm_dispatch_token SET phase = 'leased', dispatch_seq = :dispatch_seq, worker_run_id = :worker_run_id
WHERE child_id = :child_id
RETURNING child_id, parent_session_id, parent_stream_id, parent_seq, queue_seq, dispatch_seq, worker_run_id, phase,
    cancel_request_id
