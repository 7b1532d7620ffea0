-- fan_out_sources: Read stages that are to fan out, each with the output of the stage it fans out over.
SELECT task.id, task.job_id, task.kind, task.stage, task.priority, task.each_field, task.queue, task.attempts_max,
    task.lease_ms, task.on_lost, waiting.epoch, need.on_task_id AS source_id, outcome.output AS source_output
FROM json_each(:tasks) AS item
JOIN main.task ON task.id = item.value
JOIN main.waiting ON waiting.task_id = task.id
JOIN main.need ON need.task_id = task.id AND need.number = 0
JOIN main.outcome ON outcome.task_id = need.on_task_id
WHERE outcome.epoch = (SELECT max(epoch) FROM main.outcome AS newest WHERE newest.task_id = need.on_task_id)
ORDER BY task.id
