-- branches: List branches of queues in which something is ready, in the order of their names after the one given.
WITH RECURSIVE found (queue, number) AS (
    (SELECT ready.queue COLLATE "C", 1 FROM leasehold.ready
     WHERE strpos(ready.queue, '/') > 0 AND ready.queue COLLATE "C" > %(after)s
     ORDER BY ready.queue COLLATE "C" LIMIT 1)
    UNION ALL
    SELECT next.queue, found.number + 1 FROM found CROSS JOIN LATERAL (
        SELECT ready.queue COLLATE "C" AS queue FROM leasehold.ready
        WHERE strpos(ready.queue, '/') > 0 AND ready.queue COLLATE "C" > found.queue
        ORDER BY ready.queue COLLATE "C" LIMIT 1
    ) AS next WHERE found.number < %(most)s::integer
)
SELECT queue FROM found
