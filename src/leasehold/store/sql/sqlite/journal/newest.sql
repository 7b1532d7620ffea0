-- newest: Tell the highest number that any line of the journal has been given so far, seen or not yet seen.
SELECT coalesce(max(event.id), 0) AS newest FROM main.event
