-- of_task: List the dead letters of a job, or of one task of it and those it stands for, oldest first.
SELECT letter.*, (SELECT failure FROM main.dead_letter WHERE dead_letter.id = letter.id) AS failure
FROM main.dead_letter_detail AS letter
WHERE job_id = :job AND (:task IS NULL OR task_id IN (SELECT peer_id FROM main.peer WHERE peer.task_id = :task))
ORDER BY id LIMIT :most
