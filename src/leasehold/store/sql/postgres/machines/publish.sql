-- publish: Store a machine with the arrows that are new; return its first state and its state for failure.
WITH made AS (
    INSERT INTO leasehold.machine (name, initial, failed) VALUES (%(name)s, %(initial)s, %(failed)s)
    ON CONFLICT (name) DO UPDATE SET name = excluded.name
    RETURNING initial, failed
),
drawn AS (
    INSERT INTO leasehold.arrow (machine, source, target)
    SELECT %(name)s, item ->> 0, item ->> 1 FROM jsonb_array_elements(%(arrows)s::jsonb) AS item
    ORDER BY 2, 3
    ON CONFLICT DO NOTHING
)
SELECT initial, failed FROM made
