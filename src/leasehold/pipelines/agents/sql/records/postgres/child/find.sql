-- find: Read what a child is to do.
SELECT child_id, parent_session_id, queue_seq, name, spec, again_of, job_id FROM leasehold_agents.urm_child WHERE child_id = %(child_id)s
