-- 0004_chain: The hash chain over each task's events; its head stands where the task stands.
ALTER TABLE waiting ADD COLUMN mark BLOB;
ALTER TABLE ready ADD COLUMN mark BLOB;
ALTER TABLE lease ADD COLUMN mark BLOB;
ALTER TABLE outcome ADD COLUMN mark BLOB;
ALTER TABLE event ADD COLUMN mark BLOB;
ALTER TABLE outcome_past ADD COLUMN mark BLOB;
