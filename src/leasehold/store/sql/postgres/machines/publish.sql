-- publish: Make a machine known, with arrows that it did not have yet; return how it begins and what it calls a failure.
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
