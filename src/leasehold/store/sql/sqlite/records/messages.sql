-- messages: Read the messages of all deliveries in the order they were written, from one on.
SELECT delivery.id, delivery.subject, delivery.recipient, delivery.version, delivery.message, delivery.provider
FROM main.delivery WHERE delivery.id > :after
ORDER BY delivery.id LIMIT :most
