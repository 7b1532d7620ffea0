-- belong: Note whose index this is, unless it is somebody's.
INSERT INTO folder (number, id) VALUES (1, :id) ON CONFLICT (number) DO NOTHING
