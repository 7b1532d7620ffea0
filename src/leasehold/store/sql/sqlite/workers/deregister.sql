-- deregister: Note that worker processes have ended.
UPDATE main.worker SET ended_at = leasehold_now()
WHERE id IN (SELECT value FROM json_each(:workers)) AND ended_at IS NULL
RETURNING id
