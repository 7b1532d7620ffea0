-- 0001_baseline: The whole schema of the first release.
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE kind (name TEXT PRIMARY KEY, definition TEXT NOT NULL, published_at INTEGER NOT NULL) STRICT,
    WITHOUT ROWID;

CREATE TABLE task (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id INTEGER NOT NULL,
    parent_id INTEGER,
    kind TEXT NOT NULL,
    stage TEXT,
    segment INTEGER,
    key TEXT,
    payload TEXT,
    item TEXT,
    each_field TEXT,
    queue TEXT NOT NULL,
    priority INTEGER NOT NULL,
    attempts_max INTEGER NOT NULL,
    lease_ms INTEGER NOT NULL,
    on_lost TEXT NOT NULL CHECK (on_lost IN ('requeue', 'bury')),
    created_at INTEGER NOT NULL,
    epoch INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE UNIQUE INDEX task_key ON task (kind, key) WHERE parent_id IS NULL;
CREATE UNIQUE INDEX task_part ON task (parent_id, stage, coalesce(segment, -1), epoch) WHERE parent_id IS NOT NULL;
CREATE INDEX task_job ON task (job_id) WHERE parent_id IS NOT NULL;

CREATE TABLE need (
    task_id INTEGER NOT NULL,
    on_task_id INTEGER NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (task_id, on_task_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX need_on ON need (on_task_id);

CREATE TABLE waiting (
    task_id INTEGER PRIMARY KEY,
    due_at INTEGER,
    unmet INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    mark BLOB
) STRICT;
CREATE INDEX waiting_due ON waiting (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE ready (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id INTEGER NOT NULL UNIQUE,
    queue TEXT NOT NULL,
    priority INTEGER NOT NULL,
    route TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    mark BLOB
) STRICT;
CREATE UNIQUE INDEX ready_order ON ready (queue, priority DESC, position);
CREATE INDEX ready_branch ON ready (queue) WHERE instr(queue, '/') > 0;

CREATE TABLE worker (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    host TEXT NOT NULL,
    boot TEXT NOT NULL,
    namespace TEXT NOT NULL,
    pid INTEGER NOT NULL,
    birth INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER
) STRICT;
CREATE INDEX worker_alive ON worker (boot, namespace) WHERE ended_at IS NULL;

CREATE TABLE lease (
    task_id INTEGER PRIMARY KEY,
    fence INTEGER NOT NULL,
    worker INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    has_dependents INTEGER NOT NULL,
    limited INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    cancel_reason TEXT,
    progress TEXT,
    mark BLOB
) STRICT;
CREATE INDEX lease_expiry ON lease (expires_at);
CREATE INDEX lease_cancel ON lease (worker) WHERE cancel_reason IS NOT NULL;

CREATE TABLE outcome (
    task_id INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('DONE', 'ERROR', 'CANCELLED')),
    output TEXT,
    failure TEXT,
    finished_at INTEGER NOT NULL,
    mark BLOB,
    PRIMARY KEY (task_id, epoch)
) STRICT, WITHOUT ROWID;
CREATE INDEX outcome_not_done ON outcome (status, task_id) WHERE status <> 'DONE';

CREATE TABLE unsettled (task_id INTEGER PRIMARY KEY) STRICT;

CREATE TABLE event (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id INTEGER NOT NULL,
    at INTEGER NOT NULL,
    name TEXT NOT NULL,
    fence INTEGER,
    attempt INTEGER,
    worker INTEGER,
    detail TEXT,
    mark BLOB
) STRICT;
CREATE INDEX event_task ON event (task_id);

CREATE TABLE queue (
    name TEXT PRIMARY KEY,
    paused INTEGER NOT NULL DEFAULT 0,
    capacity INTEGER CHECK (capacity > 0),
    pace_us INTEGER CHECK (pace_us > 0)
) STRICT, WITHOUT ROWID;

CREATE TABLE slot (
    queue TEXT NOT NULL,
    number INTEGER NOT NULL,
    task_id INTEGER,
    free_at INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (queue, number)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX slot_task ON slot (task_id) WHERE task_id IS NOT NULL;

CREATE VIEW task_status AS
SELECT task.id, task.job_id, task.parent_id, task.kind, task.stage, task.segment, task.key, task.queue, task.priority,
    CASE WHEN waiting.due_at IS NULL AND EXISTS (
        SELECT 1 FROM task AS part
        WHERE part.parent_id = task.id
          AND (EXISTS (SELECT 1 FROM lease WHERE lease.task_id = part.id)
            OR EXISTS (SELECT 1 FROM outcome WHERE outcome.task_id = part.id))
    ) THEN 'RUNNING' ELSE 'NEW' END AS status,
    waiting.attempt, task.attempts_max, waiting.due_at, NULL AS expires_at, NULL AS worker,
    task.created_at, NULL AS finished_at
FROM waiting JOIN task ON task.id = waiting.task_id
UNION ALL
SELECT task.id, task.job_id, task.parent_id, task.kind, task.stage, task.segment, task.key, task.queue, task.priority,
    'READY', ready.attempt, task.attempts_max, NULL, NULL, NULL, task.created_at, NULL
FROM ready JOIN task ON task.id = ready.task_id
UNION ALL
SELECT task.id, task.job_id, task.parent_id, task.kind, task.stage, task.segment, task.key, task.queue, task.priority,
    'RUNNING', lease.attempt, task.attempts_max, NULL, lease.expires_at, lease.worker, task.created_at, NULL
FROM lease JOIN task ON task.id = lease.task_id
UNION ALL
SELECT task.id, task.job_id, task.parent_id, task.kind, task.stage, task.segment, task.key, task.queue, task.priority,
    outcome.status, NULL, task.attempts_max, NULL, NULL, NULL, task.created_at, outcome.finished_at
FROM outcome JOIN task ON task.id = outcome.task_id;

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
    mark BLOB,
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
    lookups INTEGER NOT NULL DEFAULT 0,
    due_at INTEGER,
    notification_id TEXT,
    notified_at INTEGER,
    failure TEXT,
    created_at INTEGER NOT NULL,
    UNIQUE (subject, recipient, version)
) STRICT;
CREATE INDEX delivery_due ON delivery (provider, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX delivery_stuck ON delivery (status, id) WHERE status IN ('failed', 'in_doubt', 'reconciling');
CREATE INDEX delivery_inconsistent ON delivery (provider)
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

CREATE VIEW dead_letter_detail AS
SELECT dead_letter.id, dead_letter.task_id, task.job_id, task.kind, task.stage, task.segment, dead_letter.epoch,
    dead_letter.fence,
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

CREATE VIEW peer AS
SELECT id AS task_id, id AS peer_id FROM task
UNION ALL
SELECT own.id, peer.id FROM task AS own JOIN task AS peer
  ON peer.parent_id = own.parent_id AND peer.stage = own.stage
      AND coalesce(peer.segment, -1) = coalesce(own.segment, -1) AND peer.id <> own.id
WHERE own.segment IS NOT NULL;

CREATE TABLE machine (name TEXT PRIMARY KEY, initial TEXT NOT NULL, failed TEXT) STRICT, WITHOUT ROWID;

CREATE TABLE arrow (
    machine TEXT NOT NULL,
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    PRIMARY KEY (machine, source, target)
) STRICT, WITHOUT ROWID;

CREATE TABLE state (
    job_id INTEGER NOT NULL,
    subject TEXT NOT NULL,
    machine TEXT NOT NULL,
    name TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (job_id, subject)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER state_begins BEFORE INSERT ON state
WHEN NOT EXISTS (
    SELECT 1 FROM machine JOIN arrow ON arrow.machine = machine.name AND arrow.source = machine.initial
    WHERE machine.name = NEW.machine AND arrow.target = NEW.name)
  OR EXISTS (SELECT 1 FROM state WHERE job_id = NEW.job_id AND subject = NEW.subject)
BEGIN SELECT RAISE(ABORT, 'state_transition_denied: no arrow leads there from the first state'); END;

CREATE TRIGGER state_follows BEFORE UPDATE ON state
WHEN NEW.job_id <> OLD.job_id OR NEW.subject <> OLD.subject OR NEW.machine <> OLD.machine OR NOT EXISTS (
    SELECT 1 FROM arrow WHERE machine = OLD.machine AND source = OLD.name AND target = NEW.name)
BEGIN SELECT RAISE(ABORT, 'state_transition_denied: no arrow leads there from the state before'); END;

CREATE TRIGGER state_stays BEFORE DELETE ON state
WHEN EXISTS (SELECT 1 FROM waiting WHERE task_id = OLD.job_id)
    OR EXISTS (SELECT 1 FROM ready WHERE task_id = OLD.job_id)
  OR EXISTS (SELECT 1 FROM lease WHERE task_id = OLD.job_id)
BEGIN SELECT RAISE(ABORT, 'state_transition_denied: the job has not ended'); END;

CREATE VIEW job_state AS
SELECT task.id AS job_id, task.kind, task.key, machine.name AS machine,
    CASE WHEN outcome.status = 'ERROR' THEN coalesce(machine.failed, state.name, machine.initial)
         ELSE coalesce(state.name, machine.initial) END AS state,
    state.at
FROM task
JOIN kind ON kind.name = task.kind
JOIN machine ON machine.name = kind.definition ->> '$.machine.name'
LEFT JOIN state ON state.job_id = task.id AND state.subject = ''
LEFT JOIN outcome ON outcome.task_id = task.id
WHERE task.parent_id IS NULL;
