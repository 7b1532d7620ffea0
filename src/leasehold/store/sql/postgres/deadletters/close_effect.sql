-- close_effect: Record what a person knows of an effect without a result, of a cancelled job, which has no letter.
UPDATE leasehold.effect SET result = %(result)s::text, failure = %(failure)s::text,
    recorded_at = leasehold.leasehold_now()
WHERE effect.job_id = %(job)s::bigint AND effect.key = %(key)s::text AND effect.result IS NULL
  AND EXISTS (SELECT 1 FROM leasehold.outcome WHERE outcome.task_id = effect.job_id AND outcome.status = 'CANCELLED')
  AND NOT EXISTS (
    SELECT 1 FROM leasehold.task JOIN leasehold.lease ON lease.task_id = task.id
    WHERE task.job_id = %(job)s::bigint AND task.parent_id IS NOT NULL)
RETURNING effect.task_id
