-- mark_present: Mark the missing file of a row as present again.
UPDATE artifact SET state = :state, reason = NULL WHERE key = :key AND sha256 = :sha256 AND reason IS NOT NULL
