-- claim: Record which folder this index belongs to, unless one is recorded.
INSERT INTO folder (number, id) VALUES (1, :id) ON CONFLICT (number) DO NOTHING
