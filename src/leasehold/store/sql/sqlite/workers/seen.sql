-- seen: Note that a worker process is alive, for those that cannot look its process up.
UPDATE main.worker SET seen_at = leasehold_now() WHERE id = :worker AND ended_at IS NULL RETURNING id
