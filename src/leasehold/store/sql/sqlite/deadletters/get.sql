-- get: Read one dead letter with what it was made from.
SELECT letter.*, dead_letter.failure, job.key, job.payload
FROM main.dead_letter_detail AS letter JOIN main.dead_letter ON dead_letter.id = letter.id
JOIN main.task AS job ON job.id = letter.job_id
WHERE letter.id = :letter
