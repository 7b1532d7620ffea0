-- insert: Store what a child is to do.
INSERT INTO urm_child (child_id, parent_session_id, queue_seq, name, spec, again_of)
VALUES (:child_id, :parent_session_id, :queue_seq, :name, :spec, :again_of)
