-- unslotted: List a queue's running tasks that hold no slot.
SELECT lease.task_id FROM main.lease JOIN main.task ON task.id = lease.task_id
WHERE task.queue = :queue AND NOT EXISTS (SELECT 1 FROM main.slot WHERE slot.task_id = lease.task_id)
ORDER BY lease.task_id LIMIT :most
