-- events: Read the journal of a job in the order it was written.
SELECT event.id, event.task_id, event.at, event.name, event.fence, event.attempt, event.worker, event.detail
FROM leasehold.event
WHERE event.task_id = ANY(ARRAY(
        SELECT id FROM leasehold.task WHERE id = %(job)s::bigint AND parent_id IS NULL
        UNION ALL
        SELECT id FROM leasehold.task WHERE job_id = %(job)s::bigint AND parent_id IS NOT NULL))
  AND event.id > %(after)s::bigint
ORDER BY event.id LIMIT %(most)s::integer
