-- clock_read: Read the anchor of this file's clock (SQLite only: PostgreSQL has a clock of its own).
SELECT value FROM main.meta WHERE name = 'clock'
