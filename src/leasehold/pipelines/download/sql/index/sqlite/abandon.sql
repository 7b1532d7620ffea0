-- abandon: Mark an operation that nobody goes on with.
INSERT INTO abandoned (key, kind, began_at, marked_at) VALUES (:key, :kind, :began_at, :marked_at)
ON CONFLICT (key, kind, began_at) DO NOTHING
