-- standing: Tell in which states artifacts are here.
SELECT key, state FROM artifact WHERE key IN (SELECT value FROM json_each(:keys))
