-- effect_answer: Record what a person knows of an effect without a result, while no lease of its task stands.
UPDATE leasehold.effect SET result = %(result)s::text, failure = %(failure)s::text, recorded_at = leasehold.leasehold_now()
WHERE effect.job_id = %(job)s::bigint AND effect.key = %(key)s::text AND effect.result IS NULL
  AND NOT EXISTS (SELECT 1 FROM leasehold.lease WHERE lease.task_id = effect.task_id)
RETURNING effect.task_id
