-- belong: Note whose index this is, unless it is somebody's.
INSERT INTO download.folder (number, id) VALUES (1, %(id)s) ON CONFLICT (number) DO NOTHING
