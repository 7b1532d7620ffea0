-- answer_effect: Record what a person knows of an effect without a result, under an open dead letter of its task.
-- A letter of another task that had the same place in an earlier epoch counts too.
UPDATE main.effect SET result = :result, failure = :failure, recorded_at = leasehold_now()
WHERE effect.job_id = :job AND effect.key = :key AND effect.result IS NULL AND effect.task_id IN (
    SELECT peer.peer_id FROM main.dead_letter JOIN main.peer ON peer.task_id = dead_letter.task_id
    WHERE dead_letter.id = :letter AND dead_letter.state = 'open')
RETURNING effect.task_id
