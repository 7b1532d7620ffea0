-- follow: Read the journal of all jobs in the order of its numbers, from one to another.
SELECT event.id, event.task_id, event.at, event.name, event.fence, event.attempt, event.worker, event.detail,
    task.job_id, task.kind, task.stage, task.segment
FROM leasehold.event JOIN leasehold.task ON task.id = event.task_id
WHERE event.id > %(after)s::bigint AND event.id <= %(upto)s::bigint
ORDER BY event.id LIMIT %(most)s::integer
