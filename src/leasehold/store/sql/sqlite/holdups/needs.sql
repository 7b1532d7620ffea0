-- needs: List the prerequisites of a job's waiting tasks that are not done, with how many tasks each still waits for.
SELECT need.task_id, task.stage,
    (SELECT count(*) FROM main.task AS part WHERE part.parent_id = task.id) AS parts,
    (SELECT count(*) FROM main.task AS part JOIN main.outcome ON outcome.task_id = part.id
        WHERE part.parent_id = task.id) AS ended
FROM main.task AS dependent
JOIN main.waiting ON waiting.task_id = dependent.id
JOIN main.need ON need.task_id = dependent.id
JOIN main.task ON task.id = need.on_task_id
WHERE dependent.job_id = :job AND dependent.parent_id IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM main.outcome WHERE outcome.task_id = need.on_task_id)
ORDER BY need.task_id, need.number
