-- needs: List which stages these tasks wait for, in the order in which they name them.
SELECT need.task_id, stage.stage
FROM main.need JOIN main.task AS stage ON stage.id = need.on_task_id
WHERE need.task_id IN (SELECT value FROM json_each(:tasks))
ORDER BY need.task_id, need.number
