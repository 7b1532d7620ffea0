-- list: List the effects of a job, task by task, in the order in which they were first intended.
SELECT effect.task_id, effect.key, effect.number, effect.kind, effect.fields, effect.fence, effect.attempt,
    effect.result, effect.failure, effect.intended_at, effect.recorded_at, effect.job_id, task.stage, task.segment
FROM leasehold.effect JOIN leasehold.task ON task.id = effect.task_id
WHERE effect.job_id = %(job)s::bigint
    AND (effect.task_id, effect.number, effect.key) > (%(task)s::bigint, %(number)s::integer, %(key)s::text)
ORDER BY effect.task_id, effect.number, effect.key LIMIT %(most)s::integer
