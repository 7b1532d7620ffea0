-- held_by: List the leases of one worker.
SELECT task_id, fence FROM main.lease WHERE worker = :worker ORDER BY task_id LIMIT :most
