-- take: Mark an open letter as revived; only one who presses can.
UPDATE main.dead_letter SET state = 'revived' WHERE id = :letter AND state = 'open' RETURNING id
