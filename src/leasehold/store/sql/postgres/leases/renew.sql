-- renew: Extend live leases and return each with its cancel reason; one that another transaction locks is not extended.
-- Expiry is compared as a difference, so that no plan uses the index on it. Each lateral looks up one lease by its key,
-- in the order of ids, whatever the statistics are: a join of 10,000 rows with 10,000 takes a second.
WITH clock AS MATERIALIZED (SELECT leasehold.leasehold_now() AS now),
item AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(renewals)s::jsonb) AS i (task_id bigint, fence integer, lease_ms integer)
    ORDER BY task_id
),
standing AS MATERIALIZED (
    SELECT found.task_id, found.fence, found.cancel_reason, item.lease_ms
    FROM item CROSS JOIN clock CROSS JOIN LATERAL (
        SELECT * FROM leasehold.lease WHERE lease.task_id = item.task_id OFFSET 0
    ) AS found
    WHERE found.fence = item.fence AND found.expires_at - clock.now > 0
),
free AS MATERIALIZED (
    SELECT held.place, standing.fence, standing.lease_ms FROM standing CROSS JOIN LATERAL (
        SELECT lease.ctid AS place FROM leasehold.lease
        WHERE lease.task_id = standing.task_id FOR NO KEY UPDATE SKIP LOCKED
    ) AS held
),
renewed AS (
    UPDATE leasehold.lease SET expires_at = clock.now + free.lease_ms::bigint * 1000
    FROM free, clock
    WHERE lease.ctid = free.place AND lease.fence = free.fence AND lease.expires_at - clock.now > 0
    RETURNING lease.task_id, lease.fence, lease.cancel_reason
)
SELECT task_id, fence, cancel_reason, true AS extended FROM renewed
UNION ALL
SELECT task_id, fence, cancel_reason, false FROM standing WHERE task_id NOT IN (SELECT task_id FROM renewed)
