-- mark_present: Mark the missing file of a row as present again.
UPDATE download.artifact SET state = %(state)s, reason = NULL WHERE key = %(key)s AND sha256 = %(sha256)s AND reason IS NOT NULL
