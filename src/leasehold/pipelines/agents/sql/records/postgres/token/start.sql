-- start: Mark a leased child as started.
UPDATE leasehold_agents.urm_dispatch_token SET phase = 'started'
WHERE child_id = %(child_id)s AND worker_run_id = %(worker_run_id)s AND phase = 'leased'
RETURNING child_id, parent_session_id, parent_stream_id, parent_seq, queue_seq, dispatch_seq, worker_run_id, phase,
    cancel_request_id
