-- page: Return a session's children in the order of the queue, after one: where they are, how they ended.
SELECT child.child_id, child.queue_seq, child.name, child.again_of, child.job_id, token.phase,
    token.cancel_request_id, ending.body
FROM leasehold_agents.urm_child AS child
JOIN leasehold_agents.urm_dispatch_token AS token ON token.child_id = child.child_id
LEFT JOIN leasehold_agents.urm_event AS ending ON ending.child_id = child.child_id AND ending.is_mirror = 0
    AND ending.event IN ('WORKER_PASS', 'WORKER_FAIL')
WHERE child.parent_session_id = %(parent_session_id)s AND child.queue_seq > %(after)s
ORDER BY child.queue_seq LIMIT %(rows_max)s
