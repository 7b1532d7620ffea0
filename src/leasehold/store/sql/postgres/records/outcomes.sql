-- outcomes: Read how these tasks ended, with the ends of earlier epochs.
SELECT outcome.task_id, outcome.epoch, outcome.fence, outcome.status, outcome.output, outcome.failure,
    outcome.finished_at,
    false AS past
FROM leasehold.outcome WHERE outcome.task_id = ANY(ARRAY(SELECT value::bigint
    FROM jsonb_array_elements_text(%(tasks)s::jsonb)))
UNION ALL
SELECT past.task_id, past.epoch, past.fence, past.status, past.output, past.failure, past.finished_at,
    true AS past
FROM leasehold.outcome_past AS past
WHERE past.task_id = ANY(ARRAY(SELECT value::bigint FROM jsonb_array_elements_text(%(tasks)s::jsonb)))
ORDER BY 1, 2, 8 DESC
