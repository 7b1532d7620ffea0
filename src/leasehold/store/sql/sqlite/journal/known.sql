-- known: Tell which of these jobs are there.
SELECT task.id FROM main.task WHERE task.id IN (SELECT value FROM json_each(:jobs)) AND task.parent_id IS NULL
