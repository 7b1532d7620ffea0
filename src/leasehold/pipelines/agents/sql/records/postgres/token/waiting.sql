-- waiting: Return the tokens of children that wait, in the order of the queue.
SELECT child_id, parent_session_id, parent_stream_id, parent_seq, queue_seq, dispatch_seq, worker_run_id, phase,
    cancel_request_id
FROM leasehold_agents.urm_dispatch_token WHERE parent_session_id = %(parent_session_id)s AND phase = 'queued'
ORDER BY queue_seq LIMIT %(rows_max)s
