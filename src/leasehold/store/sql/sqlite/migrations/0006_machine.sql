-- 0006_machine: Declared state machines: their arrows, where each job stands, and no other change.
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
WHEN EXISTS (SELECT 1 FROM waiting WHERE task_id = OLD.job_id) OR EXISTS (SELECT 1 FROM ready WHERE task_id = OLD.job_id)
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
