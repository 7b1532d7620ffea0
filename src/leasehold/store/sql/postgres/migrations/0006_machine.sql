-- 0006_machine: Declared state machines: their arrows, where each job stands, and no other change.
CREATE TABLE leasehold.machine (name text PRIMARY KEY, initial text NOT NULL, failed text);

CREATE TABLE leasehold.arrow (
    machine text NOT NULL,
    source text NOT NULL,
    target text NOT NULL,
    PRIMARY KEY (machine, source, target)
);

CREATE TABLE leasehold.state (
    job_id bigint NOT NULL,
    subject text NOT NULL,
    machine text NOT NULL,
    name text NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (job_id, subject)
) WITH (fillfactor = 70);

CREATE FUNCTION leasehold.state_guard() RETURNS trigger LANGUAGE plpgsql
AS $$ BEGIN
    IF TG_OP = 'DELETE' THEN
        IF EXISTS (SELECT 1 FROM leasehold.waiting WHERE task_id = OLD.job_id)
            OR EXISTS (SELECT 1 FROM leasehold.ready WHERE task_id = OLD.job_id)
            OR EXISTS (SELECT 1 FROM leasehold.lease WHERE task_id = OLD.job_id) THEN
            RAISE EXCEPTION 'state_transition_denied: the job has not ended';
        END IF;
        RETURN OLD;
    ELSIF TG_OP = 'INSERT' THEN
        IF NOT EXISTS (
            SELECT 1 FROM leasehold.machine JOIN leasehold.arrow ON arrow.machine = machine.name AND arrow.source = machine.initial
            WHERE machine.name = NEW.machine AND arrow.target = NEW.name) THEN
            RAISE EXCEPTION 'state_transition_denied: no arrow leads there from the first state';
        END IF;
    ELSIF (NEW.job_id, NEW.subject, NEW.machine) <> (OLD.job_id, OLD.subject, OLD.machine) OR NOT EXISTS (
        SELECT 1 FROM leasehold.arrow WHERE machine = OLD.machine AND source = OLD.name AND target = NEW.name) THEN
        RAISE EXCEPTION 'state_transition_denied: no arrow leads there from the state before';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER state_guarded BEFORE INSERT OR UPDATE OR DELETE ON leasehold.state FOR EACH ROW EXECUTE FUNCTION leasehold.state_guard();

CREATE VIEW leasehold.job_state AS
SELECT task.id AS job_id, task.kind, task.key, machine.name AS machine,
    CASE WHEN outcome.status = 'ERROR' THEN coalesce(machine.failed, state.name, machine.initial)
         ELSE coalesce(state.name, machine.initial) END AS state,
    state.at
FROM leasehold.task
JOIN leasehold.kind ON kind.name = task.kind
JOIN leasehold.machine ON machine.name = kind.definition::jsonb -> 'machine' ->> 'name'
LEFT JOIN leasehold.state ON state.job_id = task.id AND state.subject = ''
LEFT JOIN leasehold.outcome ON outcome.task_id = task.id
WHERE task.parent_id IS NULL;
