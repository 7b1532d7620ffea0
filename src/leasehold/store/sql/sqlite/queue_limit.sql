-- queue_limit: Set how many tasks of a queue may run at once; null lifts the limit.
INSERT INTO main.queue (name, capacity) VALUES (:queue, :capacity)
ON CONFLICT (name) DO UPDATE SET capacity = excluded.capacity
RETURNING name
