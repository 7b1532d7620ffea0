-- add: Set when new jobs must have ended.
INSERT INTO main.deadline (job_id, at)
SELECT id, created_at + :after_us FROM main.task WHERE id IN (SELECT value FROM json_each(:jobs))
ON CONFLICT (job_id) DO NOTHING
