-- lose: Note that the file of a row is missing, unless another has taken the row's place.
UPDATE artifact SET state = :state, reason = :reason
WHERE key = :key AND sha256 = :sha256 AND fetched_at = :fetched_at AND reason IS NULL
