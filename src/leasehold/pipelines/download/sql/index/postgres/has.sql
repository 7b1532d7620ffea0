-- has: Tell in which state an artifact is here.
SELECT state FROM download.artifact WHERE key = %(key)s AND reason IS NULL AND (%(sha256)s::text IS NULL OR sha256 = %(sha256)s::text)
