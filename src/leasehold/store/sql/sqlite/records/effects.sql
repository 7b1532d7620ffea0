-- effects: Read the effects of these tasks of a job.
SELECT effect.task_id, effect.key, effect.number, effect.kind, effect.fields, effect.fence, effect.attempt,
    effect.result, effect.failure, effect.intended_at, effect.recorded_at
FROM main.effect
WHERE effect.job_id = :job AND effect.task_id IN (SELECT value FROM json_each(:tasks))
ORDER BY effect.task_id, effect.number
