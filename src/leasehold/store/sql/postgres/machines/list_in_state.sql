-- list_in_state: Where the jobs of a kind stand whose keys start alike, in the order of keys, after one of them.
-- Differs from SQLite: these operators compare bytes, as the index does; others follow the database's locale.
SELECT job_id, key, state FROM leasehold.job_state
WHERE kind = %(kind)s AND key ~>~ %(after)s AND key ~>=~ %(low)s AND key ~<~ %(high)s
ORDER BY key USING ~<~ LIMIT %(most)s::integer
