-- answer_effect: Record what a person knows of an effect without a result, under an open dead letter of its task.
-- A letter of another task that had the same place in an earlier epoch counts too.
-- The letter is locked: while it is open nobody runs the task, and no revival begins before this ends.
WITH held AS MATERIALIZED (
    SELECT task_id FROM leasehold.dead_letter WHERE id = %(letter)s::bigint AND state = 'open' FOR UPDATE
)
UPDATE leasehold.effect SET result = %(result)s::text, failure = %(failure)s::text,
    recorded_at = leasehold.leasehold_now()
FROM held
WHERE effect.job_id = %(job)s::bigint AND effect.key = %(key)s::text AND effect.result IS NULL
  AND effect.task_id = ANY(leasehold.peers(held.task_id))
RETURNING effect.task_id
