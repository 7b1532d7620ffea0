-- take: Mark an open letter as revived; only one who presses can.
UPDATE leasehold.dead_letter SET state = 'revived' WHERE id = %(letter)s::bigint AND state = 'open' RETURNING id
