-- foreign_tables: Find tables of an earlier system where the views go.
SELECT group_concat(name, ', ') FROM sqlite_master WHERE name IN ('artifact_jobs', 'artifact_ops') AND type = 'table'
