-- of_task: List the dead letters of a job, or of one task of it and those it stands for, oldest first.
SELECT letter.*,
    coalesce((SELECT CASE event.name WHEN 'revived' THEN 0 ELSE (event.detail::jsonb ->> 'losses')::integer END
        FROM leasehold.event
        WHERE event.task_id = letter.task_id AND event.fence <= letter.fence
          AND (event.name = 'revived' AND event.fence < letter.fence
            OR event.name IN ('reclaimed', 'cleared') AND event.detail::jsonb ->> 'losses' IS NOT NULL)
        ORDER BY event.id DESC LIMIT 1), 0) AS losses,
    (SELECT failure FROM leasehold.dead_letter WHERE dead_letter.id = letter.id) AS failure
FROM leasehold.dead_letter_detail AS letter
WHERE job_id = %(job)s::bigint AND (%(task)s::bigint IS NULL OR task_id = ANY(leasehold.peers(%(task)s::bigint)))
ORDER BY id LIMIT %(most)s::integer
