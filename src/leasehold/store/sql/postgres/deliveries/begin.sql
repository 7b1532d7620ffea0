-- begin: Note that claimed deliveries are being sent, before they are: from here on they may have been.
UPDATE leasehold.delivery SET status = 'sending'
FROM jsonb_to_recordset(%(claims)s::jsonb) AS item (id bigint, fence integer)
WHERE delivery.id = item.id AND delivery.fence = item.fence AND delivery.status IN ('pending', 'sending')
  AND delivery.worker = %(worker)s::integer
RETURNING delivery.id, delivery.fence
