-- publish: Make a kind's definition known to processes that have no handlers.
INSERT INTO leasehold.kind (name, definition, published_at)
VALUES (%(name)s, %(definition)s, leasehold.leasehold_now())
ON CONFLICT (name) DO UPDATE SET definition = excluded.definition, published_at = excluded.published_at
WHERE kind.definition <> excluded.definition
