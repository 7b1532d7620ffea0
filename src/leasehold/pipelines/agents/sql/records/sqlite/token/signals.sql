-- signals: Return what a coordinator must act on: which active children are to be stopped, and whether any child waits.
SELECT child_id, phase, cancel_request_id FROM urm_dispatch_token
WHERE parent_session_id = :parent_session_id AND phase IN ('leased', 'started') AND cancel_request_id IS NOT NULL
UNION ALL
SELECT child_id, phase, cancel_request_id FROM (
    SELECT child_id, phase, cancel_request_id FROM urm_dispatch_token
    WHERE parent_session_id = :parent_session_id AND phase = 'queued' ORDER BY queue_seq LIMIT 1) AS waiting
