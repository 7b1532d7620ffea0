-- ready_first: Find the task that is next in any of these queues, highest priority first, then append order.
SELECT first.queue, first.priority, first.position
FROM jsonb_array_elements_text(%(queues)s::jsonb) AS wanted (queue) CROSS JOIN LATERAL (
    SELECT ready.queue, ready.priority, ready.position FROM leasehold.ready
    WHERE ready.queue = wanted.queue AND ready.route = ANY(ARRAY(SELECT jsonb_array_elements_text(%(routes)s::jsonb)))
    ORDER BY ready.priority DESC, ready.position LIMIT 1
) AS first
ORDER BY first.priority DESC, first.position LIMIT %(most)s::integer
