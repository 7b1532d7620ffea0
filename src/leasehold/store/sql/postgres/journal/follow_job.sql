-- follow_job: Read the journal of one job in the order of its numbers, from one to another.
SELECT event.id, event.task_id, event.at, event.name, event.fence, event.attempt, event.worker, event.detail,
    task.job_id, task.kind, task.stage, task.segment
FROM leasehold.event JOIN leasehold.task ON task.id = event.task_id
WHERE event.task_id = ANY(ARRAY(
        SELECT id FROM leasehold.task WHERE id = %(job)s::bigint AND parent_id IS NULL
        UNION ALL
        SELECT id FROM leasehold.task WHERE job_id = %(job)s::bigint AND parent_id IS NOT NULL))
  AND event.id > %(after)s::bigint AND event.id <= %(upto)s::bigint
ORDER BY event.id LIMIT %(most)s::integer
