-- claim: Record which folder this index belongs to, unless one is recorded.
INSERT INTO download.folder (number, id) VALUES (1, %(id)s) ON CONFLICT (number) DO NOTHING
