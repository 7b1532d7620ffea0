-- deregister: Note that worker processes have ended.
UPDATE leasehold.worker SET ended_at = leasehold.leasehold_now()
WHERE id = ANY(ARRAY(SELECT value::integer FROM jsonb_array_elements_text(%(workers)s::jsonb))) AND ended_at IS NULL
RETURNING id
