-- lose: Note that the file of a row is missing, unless another has taken the row's place.
UPDATE download.artifact SET state = %(state)s, reason = %(reason)s
WHERE key = %(key)s AND sha256 = %(sha256)s AND fetched_at = %(fetched_at)s AND reason IS NULL
