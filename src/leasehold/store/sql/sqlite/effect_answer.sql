-- effect_answer: Record what a person knows of an effect without a result, while no lease of its task stands.
UPDATE main.effect SET result = :result, failure = :failure, recorded_at = leasehold_now()
WHERE effect.job_id = :job AND effect.key = :key AND effect.result IS NULL
  AND NOT EXISTS (SELECT 1 FROM main.lease WHERE lease.task_id = effect.task_id)
RETURNING effect.task_id
