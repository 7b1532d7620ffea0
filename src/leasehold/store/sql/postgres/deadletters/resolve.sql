-- resolve: Close a letter that stands as it was read.
UPDATE leasehold.dead_letter SET state = 'resolved' WHERE id = %(letter)s::bigint AND state = %(state)s::text
RETURNING id
