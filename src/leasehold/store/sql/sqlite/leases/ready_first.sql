-- ready_first: Find the task that is next in any of these queues, highest priority first, then append order.
SELECT ready.queue, ready.priority, ready.position
FROM json_each(:queues) AS wanted CROSS JOIN main.ready
WHERE ready.position = (
    SELECT candidate.position FROM main.ready AS candidate
    WHERE candidate.queue = wanted.value AND candidate.route IN (SELECT value FROM json_each(:routes))
    ORDER BY candidate.priority DESC, candidate.position LIMIT 1)
ORDER BY ready.priority DESC, ready.position LIMIT :most
