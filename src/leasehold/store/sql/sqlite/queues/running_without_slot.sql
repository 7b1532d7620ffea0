-- running_without_slot: List running tasks of a queue, or of its branches, that hold no slot.
SELECT task.queue, lease.task_id FROM main.lease JOIN main.task ON task.id = lease.task_id
WHERE (task.queue = :queue
    OR (instr(task.queue, '/') > 0 AND substr(task.queue, 1, instr(task.queue, '/')) || '*' = :queue))
  AND NOT EXISTS (SELECT 1 FROM main.slot WHERE slot.task_id = lease.task_id)
ORDER BY lease.task_id LIMIT :most
