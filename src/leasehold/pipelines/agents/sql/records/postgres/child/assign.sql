-- assign: Store the engine's job of a child.
UPDATE leasehold_agents.urm_child SET job_id = %(job_id)s WHERE child_id = %(child_id)s
RETURNING child_id
