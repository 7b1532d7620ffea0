-- find_kind: Read the published definition of a kind.
SELECT definition FROM kind WHERE name = :name
