-- terminate: Mark children as terminal.
UPDATE urm_dispatch_token SET phase = 'terminal'
WHERE child_id IN (SELECT value FROM json_each(:child_ids)) AND phase <> 'terminal'
RETURNING child_id, parent_session_id, parent_stream_id, parent_seq, queue_seq, dispatch_seq, worker_run_id, phase,
    cancel_request_id
