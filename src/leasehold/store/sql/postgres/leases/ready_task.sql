-- ready_task: Find where a task that is ready stands.
SELECT queue, priority, position FROM leasehold.ready WHERE task_id = %(task)s::bigint
