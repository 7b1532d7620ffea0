-- mark_missing: Mark the file of a row as missing, unless the row was replaced.
UPDATE download.artifact SET state = %(state)s, reason = %(reason)s
WHERE key = %(key)s AND sha256 = %(sha256)s AND fetched_at = %(fetched_at)s AND reason IS NULL
