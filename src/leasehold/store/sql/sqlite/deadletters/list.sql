-- list: List dead letters, newest first, by what they are of and where the last page ended.
SELECT letter.*, (SELECT failure FROM main.dead_letter WHERE dead_letter.id = letter.id) AS failure
FROM main.dead_letter_detail AS letter
WHERE (:kind IS NULL OR kind = :kind)
  AND (:stage IS NULL OR stage = :stage)
  AND (:error_class IS NULL OR error_class = :error_class)
  AND (:state IS NULL OR state = :state)
  AND (:escalated IS NULL OR escalated = :escalated)
  AND (:before IS NULL OR id < :before)
ORDER BY id DESC LIMIT :most
