-- renew: Extend live leases and return each with its cancel reason; one that another transaction locks is not extended.
-- Differs from PostgreSQL: SQLite has one writer, so no other transaction can lock one.
UPDATE main.lease SET expires_at = leasehold_now() + (item.value ->> 'lease_ms') * 1000
FROM json_each(:renewals) AS item
WHERE lease.task_id = item.value ->> 'task_id' AND lease.fence = item.value ->> 'fence'
    AND lease.expires_at > leasehold_now()
RETURNING lease.task_id, lease.fence, lease.cancel_reason, true AS extended
