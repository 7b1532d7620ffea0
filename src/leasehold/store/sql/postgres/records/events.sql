-- events: Read the journal of these tasks, each in the order it was written.
SELECT event.id, event.task_id, event.at, event.name, event.fence, event.attempt, event.worker, event.detail
FROM leasehold.event
WHERE event.task_id = ANY(ARRAY(SELECT value::bigint FROM jsonb_array_elements_text(%(tasks)s::jsonb)))
ORDER BY event.task_id, event.id
