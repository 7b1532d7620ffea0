-- marks: Read the chain of marks of these tasks in order, and last the head that stands where each task stands.
SELECT event.task_id, event.id AS event_id, event.mark
FROM main.event WHERE event.task_id IN (SELECT value FROM json_each(:tasks))
UNION ALL
SELECT waiting.task_id, NULL, waiting.mark FROM main.waiting
WHERE waiting.task_id IN (SELECT value FROM json_each(:tasks))
UNION ALL
SELECT ready.task_id, NULL, ready.mark FROM main.ready WHERE ready.task_id IN (SELECT value FROM json_each(:tasks))
UNION ALL
SELECT lease.task_id, NULL, lease.mark FROM main.lease WHERE lease.task_id IN (SELECT value FROM json_each(:tasks))
UNION ALL
SELECT outcome.task_id, NULL, outcome.mark FROM main.outcome
WHERE outcome.task_id IN (SELECT value FROM json_each(:tasks))
ORDER BY 1, 2 NULLS LAST
