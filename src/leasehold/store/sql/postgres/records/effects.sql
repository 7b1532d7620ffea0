-- effects: Read the effects of these tasks of a job.
SELECT effect.task_id, effect.key, effect.number, effect.kind, effect.fields, effect.fence, effect.attempt,
    effect.result, effect.failure, effect.intended_at, effect.recorded_at
FROM leasehold.effect
WHERE effect.job_id = %(job)s::bigint
    AND effect.task_id = ANY(ARRAY(SELECT value::bigint FROM jsonb_array_elements_text(%(tasks)s::jsonb)))
ORDER BY effect.task_id, effect.number
