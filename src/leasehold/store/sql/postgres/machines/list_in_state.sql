-- list_in_state: Where the jobs of a kind stand whose keys start alike, in the order of keys, after one of them.
SELECT job_id, key, state FROM leasehold.job_state
WHERE kind = %(kind)s AND key > %(after)s AND starts_with(key, %(prefix)s)
ORDER BY key LIMIT %(most)s::integer
