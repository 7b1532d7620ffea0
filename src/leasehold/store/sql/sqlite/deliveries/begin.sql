-- begin: Note that claimed deliveries are being sent, before they are: from here on they may have been.
UPDATE main.delivery SET status = 'sending'
FROM json_each(:claims) AS item
WHERE delivery.id = item.value ->> 'id' AND delivery.fence = item.value ->> 'fence'
  AND delivery.status IN ('pending', 'sending') AND delivery.worker = :worker
RETURNING delivery.id, delivery.fence
