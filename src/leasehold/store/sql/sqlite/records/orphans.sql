-- orphans: Find rows of a job whose task is missing: an effect, a spend, a linked job, a prerequisite of a stage.
WITH member AS MATERIALIZED (
    SELECT id FROM main.task WHERE id = :job AND parent_id IS NULL
    UNION ALL
    SELECT id FROM main.task WHERE job_id = :job AND parent_id IS NOT NULL
)
SELECT effect.task_id AS missing, 'effect ' || effect.key AS what FROM main.effect
WHERE effect.job_id = :job AND effect.task_id NOT IN (SELECT id FROM member)
UNION ALL
SELECT spend.task_id, 'spend ' || spend.key FROM main.spend
WHERE spend.job_id = :job AND spend.task_id NOT IN (SELECT id FROM member)
UNION ALL
SELECT link.parent_id, 'linked job ' || link.job_id FROM main.link
WHERE link.parent_job_id = :job AND link.parent_id NOT IN (SELECT id FROM member)
UNION ALL
SELECT need.on_task_id, 'a need' FROM main.need
WHERE need.task_id IN (SELECT id FROM member) AND need.on_task_id NOT IN (SELECT id FROM member)
UNION ALL
SELECT need.task_id, 'a need' FROM main.need
WHERE need.on_task_id IN (SELECT id FROM member) AND need.task_id NOT IN (SELECT id FROM member)
ORDER BY 1, 2 LIMIT 1
