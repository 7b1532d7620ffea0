-- list: List dead letters, newest first, by what they are of and where the last page ended.
SELECT letter.*,
    coalesce((SELECT CASE event.name WHEN 'revived' THEN 0 ELSE event.detail ->> 'losses' END FROM main.event
        WHERE event.task_id = letter.task_id AND event.fence <= letter.fence
          AND (event.name = 'revived' AND event.fence < letter.fence
            OR event.name IN ('reclaimed', 'cleared') AND event.detail ->> 'losses' IS NOT NULL)
        ORDER BY event.id DESC LIMIT 1), 0) AS losses,
    (SELECT failure FROM main.dead_letter WHERE dead_letter.id = letter.id) AS failure
FROM main.dead_letter_detail AS letter
WHERE (:kind IS NULL OR kind = :kind)
  AND (:stage IS NULL OR stage = :stage)
  AND (:error_class IS NULL OR error_class = :error_class)
  AND (:state IS NULL OR state = :state)
  AND (:escalated IS NULL OR escalated = :escalated)
  AND (:before IS NULL OR id < :before)
ORDER BY id DESC LIMIT :most
