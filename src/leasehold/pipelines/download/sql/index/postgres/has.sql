-- has: Tell whether an artifact is here.
SELECT 1 FROM download.artifact WHERE key = %(key)s AND reason IS NULL AND (%(sha256)s::text IS NULL OR sha256 = %(sha256)s::text)
