-- get: Read one dead letter with what it was made from.
SELECT letter.*, dead_letter.failure, job.key, job.payload
FROM leasehold.dead_letter_detail AS letter JOIN leasehold.dead_letter ON dead_letter.id = letter.id
JOIN leasehold.task AS job ON job.id = letter.job_id
WHERE letter.id = %(letter)s::bigint
