-- foreign: Tell whether another program's tables stand where ours would.
SELECT count(*) > 0 AS found FROM sqlite_schema
WHERE name IN ('meta', 'kind', 'task', 'need', 'waiting', 'ready', 'worker', 'lease', 'outcome', 'unsettled', 'event', 'queue',
    'slot', 'task_status', 'effect', 'dead_letter', 'delivery', 'budget', 'schedule')
