-- get: Read one dead letter with what it was made from.
SELECT letter.*,
    coalesce((SELECT CASE event.name WHEN 'revived' THEN 0 ELSE (event.detail::jsonb ->> 'losses')::integer END
        FROM leasehold.event
        WHERE event.task_id = letter.task_id AND event.fence <= letter.fence
          AND (event.name = 'revived' AND event.fence < letter.fence
            OR event.name IN ('reclaimed', 'cleared') AND event.detail::jsonb ->> 'losses' IS NOT NULL)
        ORDER BY event.id DESC LIMIT 1), 0) AS losses,
    dead_letter.failure, job.key, job.payload
FROM leasehold.dead_letter_detail AS letter JOIN leasehold.dead_letter ON dead_letter.id = letter.id
JOIN leasehold.task AS job ON job.id = letter.job_id
WHERE letter.id = %(letter)s::bigint
