-- ran_with: List which tasks ran in each worker that a task has lost.
SELECT detail::jsonb ->> 'others' AS others FROM leasehold.event
WHERE task_id = %(task)s::bigint AND name = 'reclaimed' AND detail::jsonb ->> 'others' IS NOT NULL ORDER BY id
