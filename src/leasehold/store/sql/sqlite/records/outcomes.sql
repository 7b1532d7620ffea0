-- outcomes: Read how these tasks ended, with the ends of earlier epochs.
SELECT outcome.task_id, outcome.epoch, outcome.fence, outcome.status, outcome.output, outcome.failure,
    outcome.finished_at,
    0 AS past
FROM main.outcome WHERE outcome.task_id IN (SELECT value FROM json_each(:tasks))
UNION ALL
SELECT past.task_id, past.epoch, past.fence, past.status, past.output, past.failure, past.finished_at,
    1 AS past
FROM main.outcome_past AS past WHERE past.task_id IN (SELECT value FROM json_each(:tasks))
ORDER BY 1, 2, 8 DESC
