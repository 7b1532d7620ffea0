-- effect_answer: Record what a person knows of an effect without a result, while no lease of its task stands, nor of one made anew in its place.
UPDATE leasehold.effect SET result = %(result)s::text, failure = %(failure)s::text, recorded_at = leasehold.leasehold_now()
WHERE effect.job_id = %(job)s::bigint AND effect.key = %(key)s::text AND effect.result IS NULL
  AND NOT EXISTS (
    SELECT 1 FROM leasehold.lease JOIN leasehold.task AS running ON running.id = lease.task_id
    JOIN leasehold.task AS own ON own.id = effect.task_id
    WHERE running.job_id = effect.job_id AND running.stage IS NOT DISTINCT FROM own.stage
      AND running.segment IS NOT DISTINCT FROM own.segment)
RETURNING effect.task_id
