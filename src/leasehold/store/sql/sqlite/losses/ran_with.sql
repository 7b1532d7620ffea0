-- ran_with: List which tasks ran in each worker that a task has lost.
SELECT detail ->> 'others' AS others FROM main.event
WHERE task_id = :task AND name = 'reclaimed' AND detail ->> 'others' IS NOT NULL ORDER BY id
