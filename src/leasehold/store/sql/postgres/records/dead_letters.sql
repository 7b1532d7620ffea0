-- dead_letters: Read the dead letters of these tasks, and whether the audit trail tells that they were resolved.
SELECT letter.task_id, letter.epoch, letter.fence, letter.error_class, letter.failure, letter.attempts,
    letter.first_failure_at,
    letter.last_failure_at, letter.escalated, letter.state, EXISTS (
        SELECT 1 FROM leasehold.audit
        WHERE audit.noun = 'dead_letter' AND audit.noun_id = letter.id AND audit.action = 'resolve') AS resolved
FROM leasehold.dead_letter AS letter
WHERE letter.task_id = ANY(ARRAY(SELECT value::bigint FROM jsonb_array_elements_text(%(tasks)s::jsonb)))
ORDER BY letter.task_id, letter.epoch
