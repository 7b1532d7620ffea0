-- terminate: Mark children as terminal.
UPDATE leasehold_agents.urm_dispatch_token SET phase = 'terminal'
WHERE child_id = ANY(ARRAY(SELECT json_array_elements_text(%(child_ids)s::json))) AND phase <> 'terminal'
RETURNING child_id, parent_session_id, parent_stream_id, parent_seq, queue_seq, dispatch_seq, worker_run_id, phase,
    cancel_request_id
