-- ready_task: Find where a task that is ready stands.
SELECT queue, priority, position FROM main.ready WHERE task_id = :task
