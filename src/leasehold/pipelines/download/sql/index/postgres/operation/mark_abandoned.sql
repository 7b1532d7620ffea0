-- mark_abandoned: Mark an operation that was begun and will not be continued.
INSERT INTO download.abandoned (key, kind, began_at, marked_at) VALUES (%(key)s, %(kind)s, %(began_at)s, %(marked_at)s)
ON CONFLICT (key, kind, began_at) DO NOTHING
