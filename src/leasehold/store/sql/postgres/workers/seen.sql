-- seen: Note that a worker process is alive, for those that cannot look its process up.
UPDATE leasehold.worker SET seen_at = leasehold.leasehold_now() WHERE id = %(worker)s::integer AND ended_at IS NULL
RETURNING id
