-- has_meta: Find out whether this file has a table of facts.
SELECT count(*) FROM sqlite_master WHERE name = '_meta' AND type = 'table'
