-- tables_foreign: Tell whether tables of an earlier system stand where the views go.
SELECT group_concat(name, ', ') FROM sqlite_master WHERE name IN ('artifact_jobs', 'artifact_ops') AND type = 'table'
