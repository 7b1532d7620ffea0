-- clock_read: Read the anchor of this file's clock.
SELECT value FROM main.meta WHERE name = 'clock'
