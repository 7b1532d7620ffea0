-- regain: Note that the file of a row is there again.
UPDATE artifact SET state = :state, reason = NULL WHERE key = :key AND sha256 = :sha256 AND reason IS NOT NULL
