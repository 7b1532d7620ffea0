-- insert: Add the token of a child that waits in the queue.
INSERT INTO leasehold_agents.urm_dispatch_token
    (child_id, parent_session_id, parent_stream_id, parent_seq, queue_seq, phase)
VALUES (%(child_id)s, %(parent_session_id)s, %(parent_stream_id)s, %(parent_seq)s, %(queue_seq)s, 'queued')
RETURNING child_id, parent_session_id, parent_stream_id, parent_seq, queue_seq, dispatch_seq, worker_run_id, phase,
    cancel_request_id
