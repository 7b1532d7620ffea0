-- pause: Stop or resume claims from a queue.
INSERT INTO main.queue (name, paused) VALUES (:queue, :paused)
ON CONFLICT (name) DO UPDATE SET paused = excluded.paused
RETURNING name
