-- scratch: Make the tables in which a statement leaves rows for the next.
-- They replace data-modifying CTEs, which SQLite does not have.
CREATE TEMP TABLE IF NOT EXISTS leasehold_added (
    id INTEGER PRIMARY KEY, job_id INTEGER, parent_id INTEGER, kind TEXT, stage TEXT, segment INTEGER, key TEXT,
        payload TEXT,
    item TEXT, each_field TEXT, queue TEXT, priority INTEGER, attempts_max INTEGER, lease_ms INTEGER, on_lost TEXT,
    delay_us INTEGER, unmet INTEGER, epoch INTEGER, mark BLOB
);

CREATE TEMP TABLE IF NOT EXISTS leasehold_taken (
    position INTEGER PRIMARY KEY, task_id INTEGER, queue TEXT, priority INTEGER, attempt INTEGER, fence INTEGER,
        epoch INTEGER, losses INTEGER,
    mark BLOB
);

CREATE TEMP TABLE IF NOT EXISTS leasehold_ended (
    task_id INTEGER PRIMARY KEY, fence INTEGER, epoch INTEGER, attempt INTEGER, worker INTEGER, has_dependents INTEGER,
    limited INTEGER, status TEXT, output TEXT, failure TEXT, delay_us INTEGER, detail TEXT, why TEXT, queue TEXT,
    priority INTEGER, route TEXT, deliveries TEXT, name TEXT, losses INTEGER, position INTEGER, began INTEGER, others TEXT,
    mark BLOB
);

CREATE TEMP TABLE IF NOT EXISTS leasehold_moved (
    number INTEGER PRIMARY KEY, task_id INTEGER, status TEXT, failure TEXT, attempt INTEGER, fence INTEGER,
        epoch INTEGER,
    buried INTEGER, losses INTEGER, position INTEGER, mark BLOB
);

CREATE TEMP TABLE IF NOT EXISTS leasehold_ledger (
    number INTEGER PRIMARY KEY, job_id INTEGER, key TEXT, task_id INTEGER, fence INTEGER, attempt INTEGER,
        ordinal INTEGER,
    kind TEXT, fields TEXT, verdict TEXT, result TEXT, failure TEXT, known_result TEXT
);

CREATE TEMP TABLE IF NOT EXISTS leasehold_step (
    number INTEGER PRIMARY KEY, job_id INTEGER, key TEXT, task_id INTEGER, fence INTEGER, attempt INTEGER,
        worker INTEGER, machine TEXT,
    subject TEXT, target TEXT, source TEXT, verdict TEXT, detail TEXT, mark BLOB
);

CREATE TEMP TABLE IF NOT EXISTS leasehold_debit (
    number INTEGER PRIMARY KEY, job_id INTEGER, key TEXT, task_id INTEGER, fence INTEGER, attempt INTEGER,
        worker INTEGER, root_id INTEGER,
    name TEXT, amount INTEGER, most INTEGER, spent INTEGER, known_amount INTEGER, remaining INTEGER, total INTEGER,
    verdict TEXT, detail TEXT, mark BLOB
);

CREATE TEMP TABLE IF NOT EXISTS leasehold_carried (id INTEGER PRIMARY KEY, was TEXT);

CREATE TEMP TABLE IF NOT EXISTS leasehold_member (id INTEGER PRIMARY KEY);

CREATE TEMP TABLE IF NOT EXISTS leasehold_revived (
    task_id INTEGER PRIMARY KEY, epoch INTEGER, fence INTEGER, place TEXT, unmet INTEGER, detail TEXT, mark BLOB
);
