-- publish: Store a machine with the arrows that are new; return its first state and its state for failure.
-- Differs from PostgreSQL: one step for each table, since no CTE may write here.
INSERT INTO main.machine (name, initial, failed) VALUES (:name, :initial, :failed) ON CONFLICT DO NOTHING;

INSERT INTO main.arrow (machine, source, target)
SELECT :name, item.value ->> 0, item.value ->> 1 FROM json_each(:arrows) AS item WHERE true
ON CONFLICT DO NOTHING;

SELECT initial, failed FROM main.machine WHERE name = :name;
