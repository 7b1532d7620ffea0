-- mark_missing: Mark the file of a row as missing, unless the row was replaced.
UPDATE artifact SET state = :state, reason = :reason
WHERE key = :key AND sha256 = :sha256 AND fetched_at = :fetched_at AND reason IS NULL
