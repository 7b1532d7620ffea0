-- count: Count the deliveries of a subject's version by status, of these recipients or of all.
SELECT status, count(*) FROM leasehold.delivery
WHERE subject = %(subject)s::text AND version = %(version)s::integer
  AND (%(recipients)s::text IS NULL OR recipient = ANY(ARRAY(SELECT jsonb_array_elements_text(%(recipients)s::jsonb))))
GROUP BY status
