-- list_abandoned: List the operations that were marked, newest first.
SELECT key, kind, began_at, marked_at FROM download.abandoned ORDER BY marked_at DESC, key, kind LIMIT %(rows_max)s
