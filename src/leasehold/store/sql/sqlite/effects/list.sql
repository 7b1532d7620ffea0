-- list: List the effects of a job, task by task, in the order in which they were first intended.
SELECT effect.task_id, effect.key, effect.number, effect.kind, effect.fields, effect.fence, effect.attempt,
    effect.result, effect.failure, effect.intended_at, effect.recorded_at, effect.job_id, task.stage, task.segment
FROM main.effect JOIN main.task ON task.id = effect.task_id
WHERE effect.job_id = :job AND (effect.task_id, effect.number, effect.key) > (:task, :number, :key)
ORDER BY effect.task_id, effect.number, effect.key LIMIT :most
