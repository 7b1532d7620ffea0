-- of_task: List the dead letters of a job, or of one task of it and those it stands for, oldest first.
SELECT letter.*,
    coalesce((SELECT CASE event.name WHEN 'revived' THEN 0 ELSE event.detail ->> 'losses' END FROM main.event
        WHERE event.task_id = letter.task_id AND event.fence <= letter.fence
          AND (event.name = 'revived' AND event.fence < letter.fence
            OR event.name IN ('reclaimed', 'cleared') AND event.detail ->> 'losses' IS NOT NULL)
        ORDER BY event.id DESC LIMIT 1), 0) AS losses,
    (SELECT failure FROM main.dead_letter WHERE dead_letter.id = letter.id) AS failure
FROM main.dead_letter_detail AS letter
WHERE job_id = :job AND (:task IS NULL OR task_id IN (SELECT peer_id FROM main.peer WHERE peer.task_id = :task))
ORDER BY id LIMIT :most
