-- take_unsettled: Take a batch of settled tasks that nobody has looked at yet.
-- Revivals are kept out until this transaction ends: see revive_lock. Taken together with the first row, before it is
-- locked.
WITH kept_out AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared(4774451407313060419)),
chosen AS MATERIALIZED (
    SELECT unsettled.task_id FROM leasehold.unsettled CROSS JOIN kept_out
    ORDER BY unsettled.task_id LIMIT %(most)s::integer FOR UPDATE OF unsettled SKIP LOCKED
),
taken AS (
    DELETE FROM leasehold.unsettled WHERE task_id = ANY(ARRAY(SELECT task_id FROM chosen)) RETURNING task_id
)
SELECT taken.task_id, task.stage, outcome.status
FROM taken JOIN leasehold.task ON task.id = taken.task_id
JOIN leasehold.outcome ON outcome.task_id = taken.task_id
WHERE outcome.epoch = (SELECT max(epoch) FROM leasehold.outcome AS newest WHERE newest.task_id = taken.task_id)
ORDER BY taken.task_id
