-- known: Read the newest version of a job that was asked for before.
SELECT version FROM main.rerun WHERE kind = :kind AND key = :key
