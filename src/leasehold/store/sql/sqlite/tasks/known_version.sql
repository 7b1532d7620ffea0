-- known_version: Read the newest version of a job that was submitted before.
SELECT version FROM main.rerun WHERE kind = :kind AND key = :key
