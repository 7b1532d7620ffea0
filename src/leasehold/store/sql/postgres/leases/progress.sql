-- progress: Note how far leased attempts have come, each only while its lease stands.
-- The time is compared as a difference, so that no plan looks leases up by their expiry.
WITH clock AS MATERIALIZED (SELECT leasehold.leasehold_now() AS now),
item AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(reports)s::jsonb) AS i (task_id bigint, fence integer, progress text)
)
UPDATE leasehold.lease SET progress = item.progress
FROM item, clock
WHERE lease.task_id = ANY(ARRAY(SELECT task_id FROM item)) AND lease.task_id = item.task_id AND lease.fence = item.fence
  AND lease.expires_at - clock.now > 0
RETURNING lease.task_id, lease.fence
