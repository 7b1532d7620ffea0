-- states: Read the states of artifacts by key.
SELECT key, state FROM artifact WHERE key IN (SELECT value FROM json_each(:keys))
