-- assign: Store the engine's job of a child.
UPDATE urm_child SET job_id = :job_id WHERE child_id = :child_id
RETURNING child_id
