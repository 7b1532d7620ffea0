-- regain: Note that the file of a row is there again.
UPDATE download.artifact SET state = %(state)s, reason = NULL WHERE key = %(key)s AND sha256 = %(sha256)s AND reason IS NOT NULL
