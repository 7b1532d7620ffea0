-- renew: Extend leases that still stand, and tell which of them shall stop. One that another transaction holds is told of, and left.
-- The time is compared as a difference, so that no plan looks leases up by their expiry.
WITH clock AS MATERIALIZED (SELECT leasehold.leasehold_now() AS now),
item AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(renewals)s::jsonb) AS i (task_id bigint, fence integer, lease_ms integer)
),
standing AS MATERIALIZED (
    SELECT lease.task_id, lease.fence, lease.cancel_reason, item.lease_ms FROM leasehold.lease, item, clock
    WHERE lease.task_id = ANY(ARRAY(SELECT task_id FROM item)) AND lease.task_id = item.task_id AND lease.fence = item.fence
      AND lease.expires_at - clock.now > 0
),
free AS MATERIALIZED (
    SELECT lease.task_id FROM leasehold.lease WHERE lease.task_id = ANY(ARRAY(SELECT task_id FROM standing))
    ORDER BY lease.task_id FOR NO KEY UPDATE SKIP LOCKED
),
renewed AS (
    UPDATE leasehold.lease SET expires_at = clock.now + standing.lease_ms::bigint * 1000
    FROM standing, clock
    WHERE lease.task_id = ANY(ARRAY(SELECT task_id FROM free)) AND lease.task_id = standing.task_id
      AND lease.fence = standing.fence AND lease.expires_at - clock.now > 0
    RETURNING lease.task_id, lease.fence, lease.cancel_reason
)
SELECT task_id, fence, cancel_reason, true AS extended FROM renewed
UNION ALL
SELECT task_id, fence, cancel_reason, false FROM standing WHERE task_id <> ALL(ARRAY(SELECT task_id FROM renewed))
