-- orphans: Find rows of a job whose task is missing: an effect, a spend, a linked job, a prerequisite of a stage.
WITH member AS MATERIALIZED (
    SELECT id FROM leasehold.task WHERE id = %(job)s::bigint AND parent_id IS NULL
    UNION ALL
    SELECT id FROM leasehold.task WHERE job_id = %(job)s::bigint AND parent_id IS NOT NULL
)
SELECT effect.task_id AS missing, 'effect ' || effect.key AS what FROM leasehold.effect
WHERE effect.job_id = %(job)s::bigint AND effect.task_id <> ALL(ARRAY(SELECT id FROM member))
UNION ALL
SELECT spend.task_id, 'spend ' || spend.key FROM leasehold.spend
WHERE spend.job_id = %(job)s::bigint AND spend.task_id <> ALL(ARRAY(SELECT id FROM member))
UNION ALL
SELECT link.parent_id, 'linked job ' || link.job_id FROM leasehold.link
WHERE link.parent_job_id = %(job)s::bigint AND link.parent_id <> ALL(ARRAY(SELECT id FROM member))
UNION ALL
SELECT need.on_task_id, 'a need' FROM leasehold.need
WHERE need.task_id = ANY(ARRAY(SELECT id FROM member)) AND need.on_task_id <> ALL(ARRAY(SELECT id FROM member))
UNION ALL
SELECT need.task_id, 'a need' FROM leasehold.need
WHERE need.on_task_id = ANY(ARRAY(SELECT id FROM member)) AND need.task_id <> ALL(ARRAY(SELECT id FROM member))
ORDER BY 1, 2 LIMIT 1
