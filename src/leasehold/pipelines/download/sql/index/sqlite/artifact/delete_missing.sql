-- delete_missing: Delete a row whose file is missing.
DELETE FROM artifact WHERE key = :key AND reason IS NOT NULL
