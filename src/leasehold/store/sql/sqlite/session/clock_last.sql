-- clock_last: Read when the last journal line was written.
SELECT at FROM main.event ORDER BY id DESC LIMIT 1
