-- dead_resolve: Close a revived letter.
UPDATE main.dead_letter SET state = 'resolved' WHERE id = :letter AND state = 'revived' RETURNING id
