-- 0008_trees: Budgets, what was spent of them, and jobs that a task has submitted.
CREATE TABLE budget (
    job_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    most INTEGER NOT NULL,
    spent INTEGER NOT NULL DEFAULT 0 CHECK (spent BETWEEN 0 AND most),
    PRIMARY KEY (job_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE spend (
    job_id INTEGER NOT NULL,
    key TEXT NOT NULL,
    task_id INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    name TEXT NOT NULL,
    amount INTEGER NOT NULL CHECK (amount >= 0),
    remaining INTEGER NOT NULL CHECK (remaining >= 0),
    at INTEGER NOT NULL,
    PRIMARY KEY (job_id, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE link (
    job_id INTEGER PRIMARY KEY,
    root_id INTEGER NOT NULL,
    parent_job_id INTEGER NOT NULL,
    parent_id INTEGER NOT NULL,
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    depth INTEGER NOT NULL,
    UNIQUE (parent_job_id, key)
) STRICT;
CREATE INDEX link_root ON link (root_id);
