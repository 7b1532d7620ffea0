-- pause: Stop or resume claims from a queue.
INSERT INTO leasehold.queue (name, paused) VALUES (%(queue)s, %(paused)s::boolean)
ON CONFLICT (name) DO UPDATE SET paused = excluded.paused
RETURNING name
