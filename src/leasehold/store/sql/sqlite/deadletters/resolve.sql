-- resolve: Close a letter that stands as it was read.
UPDATE main.dead_letter SET state = 'resolved' WHERE id = :letter AND state = :state RETURNING id
