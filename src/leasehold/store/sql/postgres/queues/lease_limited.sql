-- lease_limited: Note that running tasks hold a slot, so that their end frees it.
UPDATE leasehold.lease SET limited = true
WHERE task_id = ANY(ARRAY(SELECT value::bigint FROM jsonb_array_elements_text(%(tasks)s::jsonb)))
RETURNING task_id
