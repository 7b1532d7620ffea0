-- limit: Set how many tasks of a queue may run at once, and the time between their starts; null lifts the limit.
INSERT INTO main.queue (name, capacity, pace_us) VALUES (:queue, :capacity, :pace_us)
ON CONFLICT (name) DO UPDATE SET capacity = excluded.capacity, pace_us = excluded.pace_us
RETURNING name
