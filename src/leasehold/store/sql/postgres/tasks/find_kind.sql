-- find_kind: Read the published definition of a kind.
SELECT definition FROM leasehold.kind WHERE name = %(name)s
