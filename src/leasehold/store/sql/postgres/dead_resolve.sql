-- dead_resolve: Close a revived letter.
UPDATE leasehold.dead_letter SET state = 'resolved' WHERE id = %(letter)s::bigint AND state = 'revived' RETURNING id
