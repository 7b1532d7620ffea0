-- lease_limited: Note that running tasks hold a slot, so that their end frees it.
UPDATE main.lease SET limited = true
WHERE task_id IN (SELECT value FROM json_each(:tasks))
RETURNING task_id
