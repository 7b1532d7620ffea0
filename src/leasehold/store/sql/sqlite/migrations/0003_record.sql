-- 0003_record: The ledger of effects, dead letters with their histories, the outbox, reruns, and the audit trail.
DROP TABLE effect;
DROP TABLE dead_letter;
DROP TABLE delivery;

CREATE TABLE effect (
    job_id INTEGER NOT NULL,
    key TEXT NOT NULL,
    task_id INTEGER NOT NULL,
    number INTEGER NOT NULL,
    kind TEXT NOT NULL,
    fields TEXT NOT NULL,
    fence INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    result TEXT,
    failure TEXT,
    intended_at INTEGER NOT NULL,
    recorded_at INTEGER,
    PRIMARY KEY (job_id, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE outcome_past (
    task_id INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('DONE', 'ERROR', 'CANCELLED')),
    output TEXT,
    failure TEXT,
    finished_at INTEGER NOT NULL,
    PRIMARY KEY (task_id, epoch)
) STRICT, WITHOUT ROWID;

CREATE TABLE dead_letter (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    error_class TEXT NOT NULL,
    failure TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    first_failure_at INTEGER NOT NULL,
    last_failure_at INTEGER NOT NULL,
    escalated INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'revived', 'resolved')),
    UNIQUE (task_id, epoch)
) STRICT;
CREATE INDEX dead_letter_open ON dead_letter (id) WHERE state <> 'resolved';

CREATE TABLE delivery (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id INTEGER NOT NULL,
    subject TEXT NOT NULL,
    recipient TEXT NOT NULL,
    version INTEGER NOT NULL,
    message TEXT NOT NULL,
    provider TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'pending'
        CHECK (status IN ('pending', 'sending', 'sent', 'failed', 'in_doubt', 'reconciling')),
    fence INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    due_at INTEGER,
    notification_id TEXT,
    notified_at INTEGER,
    failure TEXT,
    created_at INTEGER NOT NULL,
    UNIQUE (subject, recipient, version)
) STRICT;
CREATE INDEX delivery_due ON delivery (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX delivery_task ON delivery (task_id);

CREATE TABLE rerun (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    principal TEXT NOT NULL,
    action TEXT NOT NULL,
    noun TEXT NOT NULL,
    noun_id INTEGER NOT NULL,
    detail TEXT NOT NULL
) STRICT;
CREATE INDEX audit_noun ON audit (noun, noun_id);
