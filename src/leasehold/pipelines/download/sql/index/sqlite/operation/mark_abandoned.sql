-- mark_abandoned: Mark an operation that was begun and will not be continued.
INSERT INTO abandoned (key, kind, began_at, marked_at) VALUES (:key, :kind, :began_at, :marked_at)
ON CONFLICT (key, kind, began_at) DO NOTHING
