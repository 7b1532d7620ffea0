-- find_kind: Read the published definition of a kind.
SELECT definition FROM main.kind WHERE name = :name
