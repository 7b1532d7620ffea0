-- held_by: List the leases of one worker.
SELECT task_id, fence FROM lease WHERE worker = :worker ORDER BY task_id LIMIT :most
