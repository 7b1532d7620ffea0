-- of_worker: List the leases of a worker that is gone.
SELECT task_id, fence, worker, losses, losses_max FROM leasehold.lease_losses
WHERE worker = %(worker)s::integer ORDER BY task_id LIMIT %(most)s::integer
