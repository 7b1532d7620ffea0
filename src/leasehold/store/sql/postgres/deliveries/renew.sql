-- renew: Keep deliveries that are still being carried from being taken by another relay.
UPDATE leasehold.delivery SET due_at = leasehold.leasehold_now() + %(lease_us)s::bigint
FROM jsonb_to_recordset(%(claims)s::jsonb) AS item (id bigint, fence integer)
WHERE delivery.id = item.id AND delivery.fence = item.fence AND delivery.status IN ('sending', 'reconciling')
RETURNING delivery.id, delivery.fence
