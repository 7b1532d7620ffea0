-- clock_write: Anchor this file's clock anew (SQLite only).
INSERT INTO main.meta (name, value) VALUES ('clock', :value) ON CONFLICT (name) DO UPDATE SET value = excluded.value
