-- make_slots: Add the slots a limit allows, the queue's own or that of its branches.
INSERT INTO leasehold.slot (queue, number)
SELECT %(queue)s, number FROM generate_series(1, coalesce(%(capacity)s::integer, (
    SELECT capacity FROM leasehold.queue WHERE name IN (%(queue)s, %(family)s) AND capacity IS NOT NULL
    ORDER BY name = %(queue)s DESC LIMIT 1))) AS number
ON CONFLICT (queue, number) DO NOTHING
