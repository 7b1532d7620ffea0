-- follow: Read the journal of all jobs in the order of its numbers, from one to another.
SELECT event.id, task.job_id, event.task_id, task.kind, task.stage, task.segment, event.at, event.name, event.fence,
    event.attempt,
    event.worker, event.detail
FROM leasehold.event JOIN leasehold.task ON task.id = event.task_id
WHERE event.id > %(after)s::bigint AND event.id <= %(upto)s::bigint
ORDER BY event.id LIMIT %(most)s::integer
