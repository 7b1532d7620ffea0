-- list: List dead letters, newest first, by what they are of and where the last page ended.
SELECT letter.*,
    coalesce((SELECT CASE event.name WHEN 'revived' THEN 0 ELSE (event.detail::jsonb ->> 'losses')::integer END
        FROM leasehold.event
        WHERE event.task_id = letter.task_id AND event.fence <= letter.fence
          AND (event.name = 'revived' AND event.fence < letter.fence
            OR event.name IN ('reclaimed', 'cleared') AND event.detail::jsonb ->> 'losses' IS NOT NULL)
        ORDER BY event.id DESC LIMIT 1), 0) AS losses,
    (SELECT failure FROM leasehold.dead_letter WHERE dead_letter.id = letter.id) AS failure
FROM leasehold.dead_letter_detail AS letter
WHERE (%(kind)s::text IS NULL OR kind = %(kind)s::text)
  AND (%(stage)s::text IS NULL OR stage = %(stage)s::text)
  AND (%(error_class)s::text IS NULL OR error_class = %(error_class)s::text)
  AND (%(state)s::text IS NULL OR state = %(state)s::text)
  AND (%(escalated)s::boolean IS NULL OR escalated = %(escalated)s::boolean)
  AND (%(before)s::bigint IS NULL OR id < %(before)s::bigint)
ORDER BY id DESC LIMIT %(most)s::integer
