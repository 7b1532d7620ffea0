-- slots_make: Add the slots a limit allows.
INSERT INTO leasehold.slot (queue, number)
SELECT %(queue)s, number FROM generate_series(1, %(capacity)s::integer) AS number
ON CONFLICT (queue, number) DO NOTHING
