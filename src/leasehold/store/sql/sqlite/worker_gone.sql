-- worker_gone: Note that worker processes have ended.
UPDATE worker SET gone_at = leasehold_now()
WHERE id IN (SELECT value FROM json_each(:workers)) AND gone_at IS NULL
RETURNING id
