-- insert: Store what a child is to do.
INSERT INTO leasehold_agents.urm_child (child_id, parent_session_id, queue_seq, name, spec, again_of)
VALUES (%(child_id)s, %(parent_session_id)s, %(queue_seq)s, %(name)s, %(spec)s, %(again_of)s)
