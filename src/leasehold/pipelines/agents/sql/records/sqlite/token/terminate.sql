-- terminate: Mark a child as terminal.
UPDATE urm_dispatch_token SET phase = 'terminal' WHERE child_id = :child_id AND phase <> 'terminal'
RETURNING child_id, parent_session_id, parent_stream_id, parent_seq, queue_seq, dispatch_seq, worker_run_id, phase,
    cancel_request_id
