-- events: Read the journal of these tasks, each in the order it was written.
SELECT event.id, event.task_id, event.at, event.name, event.fence, event.attempt, event.worker, event.detail
FROM main.event
WHERE event.task_id IN (SELECT value FROM json_each(:tasks))
ORDER BY event.task_id, event.id
