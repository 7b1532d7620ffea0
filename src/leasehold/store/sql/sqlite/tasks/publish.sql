-- publish: Make a kind's definition known to processes that have no handlers.
INSERT INTO main.kind (name, definition, published_at)
VALUES (:name, :definition, leasehold_now())
ON CONFLICT (name) DO UPDATE SET definition = excluded.definition, published_at = excluded.published_at
WHERE kind.definition <> excluded.definition
