-- hold: Lock the leases of tasks that submit linked jobs, against a cancel too, and find those that were made before.
WITH clock AS MATERIALIZED (SELECT leasehold.leasehold_now() AS now),
item AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(links)s::jsonb) AS i (job_id bigint, key text, task_id bigint, fence integer)
),
standing AS MATERIALIZED (
    SELECT lease.task_id, lease.fence, lease.cancel_reason IS NOT NULL AS stopped FROM leasehold.lease, clock
    WHERE lease.task_id = ANY(ARRAY(SELECT task_id FROM item)) AND lease.expires_at - clock.now > 0
    ORDER BY lease.task_id FOR NO KEY UPDATE OF lease
)
SELECT item.task_id, item.fence, item.key, standing.stopped, coalesce(own.root_id, item.job_id) AS root_id,
    coalesce(own.depth, 0) AS depth, made.job_id AS child, made.kind, made.payload
FROM item JOIN standing ON standing.task_id = item.task_id AND standing.fence = item.fence
LEFT JOIN LATERAL (
    SELECT link.root_id, link.depth FROM leasehold.link WHERE link.job_id = item.job_id OFFSET 0
) AS own ON true
LEFT JOIN LATERAL (
    SELECT link.job_id, task.kind, task.payload FROM leasehold.link JOIN leasehold.task ON task.id = link.job_id
    WHERE link.parent_job_id = item.job_id AND link.key = item.key OFFSET 0
) AS made ON true
