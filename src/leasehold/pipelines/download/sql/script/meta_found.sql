-- meta_found: Tell whether this file has facts.
SELECT count(*) FROM sqlite_master WHERE name = '_meta' AND type = 'table'
