-- request_cancel: Store the request that cancels a child.
UPDATE leasehold_agents.urm_dispatch_token SET cancel_request_id = %(cancel_request_id)s
WHERE child_id = %(child_id)s AND phase <> 'terminal' AND cancel_request_id IS NULL
RETURNING child_id, parent_session_id, parent_stream_id, parent_seq, queue_seq, dispatch_seq, worker_run_id, phase,
    cancel_request_id
