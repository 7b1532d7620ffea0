-- clock_write: Store the anchor of this file's clock.
INSERT INTO main.meta (name, value) VALUES ('clock', :value) ON CONFLICT (name) DO UPDATE SET value = excluded.value
