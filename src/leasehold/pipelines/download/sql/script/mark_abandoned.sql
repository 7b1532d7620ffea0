-- mark_abandoned: Mark operations that were begun long ago under a lease that no longer stands, and never ended.
INSERT INTO _abandoned (job_id, key, at)
SELECT effect.job_id, effect.key, leasehold_now() FROM effect
WHERE effect.fields ->> 'op' IS NOT NULL AND effect.result IS NULL AND effect.failure IS NULL
  AND effect.intended_at < leasehold_now() - :age_us
  AND NOT EXISTS (
    SELECT 1 FROM lease WHERE lease.task_id = effect.task_id AND lease.fence = effect.fence AND lease.expires_at > leasehold_now())
  AND NOT EXISTS (
    SELECT 1 FROM _abandoned AS known WHERE known.job_id = effect.job_id AND known.key = effect.key AND known.at >= effect.intended_at)
ON CONFLICT (job_id, key) DO UPDATE SET at = excluded.at
RETURNING key
