-- newest: Tell the highest number that any line of the journal has been given so far, seen or not yet seen.
SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS newest FROM leasehold.event_id_seq
