-- running_without_slot: List running tasks of a queue, or of its branches, that hold no slot.
SELECT task.queue, lease.task_id FROM leasehold.lease JOIN leasehold.task ON task.id = lease.task_id
WHERE (task.queue = %(queue)s OR (strpos(task.queue, '/') > 0 AND split_part(task.queue, '/', 1) || '/*' = %(queue)s))
  AND NOT EXISTS (SELECT 1 FROM leasehold.slot WHERE slot.task_id = lease.task_id)
ORDER BY lease.task_id LIMIT %(most)s::integer
