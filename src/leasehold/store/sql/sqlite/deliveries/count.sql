-- count: Count the deliveries of a subject's version by status, of these recipients or of all.
SELECT status, count(*) FROM main.delivery
WHERE subject = :subject AND version = :version
  AND (:recipients IS NULL OR recipient IN (SELECT value FROM json_each(:recipients)))
GROUP BY status
