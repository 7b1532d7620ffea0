-- states: Where a job and its parts stand in its machine.
SELECT subject, name FROM leasehold.state WHERE job_id = %(job)s ORDER BY subject
