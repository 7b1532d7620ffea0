-- branches: List branches of queues in which something is ready, in the order of their names after the one given.
WITH RECURSIVE found (queue, number) AS (
    SELECT (SELECT min(ready.queue) FROM main.ready WHERE instr(ready.queue, '/') > 0 AND ready.queue > :after), 1
    UNION ALL
    SELECT (SELECT min(ready.queue) FROM main.ready WHERE instr(ready.queue, '/') > 0 AND ready.queue > found.queue),
        found.number + 1
    FROM found WHERE found.queue IS NOT NULL AND found.number < :most
)
SELECT queue FROM found WHERE queue IS NOT NULL
