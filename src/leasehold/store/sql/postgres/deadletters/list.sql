-- list: List dead letters, newest first, by what they are of and where the last page ended.
SELECT letter.*, (SELECT failure FROM leasehold.dead_letter WHERE dead_letter.id = letter.id) AS failure
FROM leasehold.dead_letter_detail AS letter
WHERE (%(kind)s::text IS NULL OR kind = %(kind)s::text)
  AND (%(stage)s::text IS NULL OR stage = %(stage)s::text)
  AND (%(error_class)s::text IS NULL OR error_class = %(error_class)s::text)
  AND (%(state)s::text IS NULL OR state = %(state)s::text)
  AND (%(escalated)s::boolean IS NULL OR escalated = %(escalated)s::boolean)
  AND (%(before)s::bigint IS NULL OR id < %(before)s::bigint)
ORDER BY id DESC LIMIT %(most)s::integer
