-- held_by: List the leases of one worker.
SELECT task_id, fence FROM leasehold.lease WHERE worker = %(worker)s::integer ORDER BY task_id LIMIT %(most)s::integer
