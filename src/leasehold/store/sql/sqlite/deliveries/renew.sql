-- renew: Keep deliveries that are still being carried from being taken by another relay.
UPDATE main.delivery SET due_at = leasehold_now() + :lease_us
FROM json_each(:claims) AS item
WHERE delivery.id = item.value ->> 'id' AND delivery.fence = item.value ->> 'fence'
  AND delivery.status IN ('sending', 'reconciling')
RETURNING delivery.id, delivery.fence
