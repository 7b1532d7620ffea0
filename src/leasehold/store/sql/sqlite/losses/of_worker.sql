-- of_worker: List the leases of a worker that is gone.
SELECT task_id, fence, worker, losses, losses_max FROM main.lease_losses WHERE worker = :worker ORDER BY task_id LIMIT :most
