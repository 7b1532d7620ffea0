-- delete_missing: Delete a row whose file is missing.
DELETE FROM download.artifact WHERE key = %(key)s AND reason IS NOT NULL
