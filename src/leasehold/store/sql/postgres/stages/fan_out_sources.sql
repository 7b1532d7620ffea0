-- fan_out_sources: Read stages that are to fan out, each with the output of the stage it fans out over.
SELECT task.id, task.job_id, task.kind, task.stage, task.priority, task.each_field, task.queue, task.attempts_max,
    task.lease_ms, task.on_lost, waiting.epoch, need.on_task_id AS source_id, outcome.output AS source_output
FROM jsonb_array_elements_text(%(tasks)s::jsonb) AS item (task_id)
JOIN leasehold.task ON task.id = item.task_id::bigint
JOIN leasehold.waiting ON waiting.task_id = task.id
JOIN leasehold.need ON need.task_id = task.id AND need.number = 0
JOIN leasehold.outcome ON outcome.task_id = need.on_task_id
WHERE outcome.epoch = (SELECT max(epoch) FROM leasehold.outcome AS newest WHERE newest.task_id = need.on_task_id)
ORDER BY task.id
