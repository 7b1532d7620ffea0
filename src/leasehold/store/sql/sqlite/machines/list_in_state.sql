-- list_in_state: Where the jobs of a kind stand whose keys start alike, in the order of keys, after one of them.
SELECT job_id, key, state FROM main.job_state
WHERE kind = :kind AND key > :after AND key >= :low AND key < :high
ORDER BY key LIMIT :most
