-- close_effect: Record what a person knows of an effect without a result, of a cancelled job, which has no letter.
UPDATE main.effect SET result = :result, failure = :failure, recorded_at = leasehold_now()
WHERE effect.job_id = :job AND effect.key = :key AND effect.result IS NULL
  AND EXISTS (SELECT 1 FROM main.outcome WHERE outcome.task_id = effect.job_id AND outcome.status = 'CANCELLED')
  AND NOT EXISTS (
    SELECT 1 FROM main.task JOIN main.lease ON lease.task_id = task.id
    WHERE task.job_id = :job AND task.parent_id IS NOT NULL)
RETURNING effect.task_id
