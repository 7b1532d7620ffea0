-- 0003_record: The ledger of effects, dead letters with their histories, the outbox, reruns, and the audit trail.
DROP TABLE effect;
DROP TABLE dead_letter;
DROP TABLE delivery;

ALTER TABLE task ADD COLUMN epoch INTEGER NOT NULL DEFAULT 1;
DROP INDEX task_part;
CREATE UNIQUE INDEX task_part ON task (parent_id, stage, coalesce(segment, -1), epoch) WHERE parent_id IS NOT NULL;

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
    looks INTEGER NOT NULL DEFAULT 0,
    due_at INTEGER,
    notification_id TEXT,
    notified_at INTEGER,
    failure TEXT,
    created_at INTEGER NOT NULL,
    UNIQUE (subject, recipient, version)
) STRICT;
CREATE INDEX delivery_due ON delivery (provider, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX delivery_stuck ON delivery (status, id) WHERE status IN ('failed', 'in_doubt', 'reconciling');
CREATE INDEX delivery_odd ON delivery (provider)
WHERE (status = 'sent' AND (notified_at IS NULL OR notification_id IS NULL))
    OR (status IN ('pending', 'sending', 'failed') AND notified_at IS NOT NULL);
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

CREATE VIEW letter AS
SELECT dead_letter.id, dead_letter.task_id, task.job_id, task.kind, task.stage, task.segment, dead_letter.epoch, dead_letter.fence,
    dead_letter.error_class, dead_letter.attempts, task.attempts_max, dead_letter.first_failure_at,
    dead_letter.last_failure_at, dead_letter.escalated, dead_letter.state,
    (SELECT outcome.status FROM outcome WHERE outcome.task_id = task.job_id) AS job_status,
    EXISTS (
        SELECT 1 FROM audit
        WHERE audit.noun = 'dead_letter' AND audit.noun_id = dead_letter.id AND audit.action = 'evidence'
    ) AS evidenced,
    (
        SELECT count(*) FROM effect JOIN task AS actor ON actor.id = effect.task_id
        WHERE effect.job_id = task.job_id AND effect.result IS NULL AND effect.failure IS NULL
          AND actor.stage IS NOT DISTINCT FROM task.stage AND actor.segment IS NOT DISTINCT FROM task.segment
    ) AS unanswered
FROM dead_letter JOIN task ON task.id = dead_letter.task_id;
