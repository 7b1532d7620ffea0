-- foreign: Return whether another program has tables of our names.
SELECT count(*) > 0 AS found FROM sqlite_schema
WHERE name IN ('meta', 'kind', 'task', 'need', 'waiting', 'ready', 'worker', 'lease', 'outcome', 'outcome_past',
    'unsettled',
    'event', 'queue', 'slot', 'effect', 'dead_letter', 'delivery', 'rerun', 'audit', 'machine', 'arrow', 'state',
    'task_status', 'dead_letter_detail', 'peer', 'job_state')
