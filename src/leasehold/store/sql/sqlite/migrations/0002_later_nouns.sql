-- 0002_later_nouns: The places of effects, dead letters, deliveries, budgets and schedules.
CREATE TABLE effect (
    task_id INTEGER NOT NULL,
    key TEXT NOT NULL,
    kind TEXT NOT NULL,
    fence INTEGER NOT NULL,
    result TEXT,
    failure TEXT,
    intended_at INTEGER NOT NULL,
    recorded_at INTEGER,
    PRIMARY KEY (task_id, key)
) STRICT;

CREATE TABLE dead_letter (
    task_id INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    letter TEXT NOT NULL,
    buried_at INTEGER NOT NULL,
    PRIMARY KEY (task_id, epoch)
) STRICT;

CREATE TABLE delivery (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id INTEGER NOT NULL,
    subject TEXT NOT NULL,
    recipient TEXT NOT NULL,
    version TEXT NOT NULL,
    message TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (subject, recipient, version)
) STRICT;

CREATE TABLE budget (
    task_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    granted INTEGER NOT NULL CHECK (granted >= 0),
    spent INTEGER NOT NULL DEFAULT 0 CHECK (spent BETWEEN 0 AND granted),
    PRIMARY KEY (task_id, name)
) STRICT;

CREATE TABLE schedule (
    name TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    rule TEXT NOT NULL,
    next_at INTEGER
) STRICT;
