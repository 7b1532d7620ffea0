-- state: Read the state of an artifact whose file is present.
SELECT state FROM download.artifact WHERE key = %(key)s AND reason IS NULL AND (%(sha256)s::text IS NULL OR sha256 = %(sha256)s::text)
