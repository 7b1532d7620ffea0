-- known: Tell which of these jobs are there.
SELECT task.id FROM leasehold.task
WHERE task.id = ANY(ARRAY(SELECT value::bigint FROM jsonb_array_elements_text(%(jobs)s::jsonb)))
    AND task.parent_id IS NULL
