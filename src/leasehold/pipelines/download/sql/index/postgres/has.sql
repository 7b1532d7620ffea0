-- has: Tell whether an artifact is here.
SELECT 1 FROM download.artifact WHERE key = %(key)s AND reason IS NULL
