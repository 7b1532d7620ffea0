-- 0001_dispatch: Sessions, streams, events, dispatch tokens and answered requests, with the rules that they keep.
-- Constraints have the names that SQLite gives in its errors; names are compared byte by byte, as SQLite does.
CREATE TABLE leasehold_agents.urm_schema (version bigint NOT NULL PRIMARY KEY);

CREATE TABLE leasehold_agents.urm_session (
    parent_session_id text COLLATE "C" CONSTRAINT "urm_session.parent_session_id" PRIMARY KEY,
    parent_stream_id text NOT NULL CONSTRAINT "urm_session.parent_stream_id" UNIQUE,
    contract text NOT NULL CONSTRAINT urm_session_contract CHECK (contract IN ('locked', 'open')),
    max_active_children bigint NOT NULL,
    accounting_mode text NOT NULL CONSTRAINT urm_session_accounting_mode CHECK (accounting_mode = 'running_total_v1'),
    coordinator text,
    recovery_ts text,
    queue_seq bigint NOT NULL DEFAULT 0,
    dispatch_seq bigint NOT NULL DEFAULT 0,
    opened_ts text NOT NULL,
    CONSTRAINT urm_session_max_active_children
        CHECK (max_active_children >= 1 AND (contract = 'open' OR max_active_children <= 2)));

CREATE INDEX urm_session_coordinator ON leasehold_agents.urm_session (coordinator) WHERE coordinator IS NOT NULL;

CREATE FUNCTION leasehold_agents.urm_reject() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', TG_ARGV[0];
END $$;

CREATE TRIGGER urm_session_keeps BEFORE UPDATE ON leasehold_agents.urm_session FOR EACH ROW
WHEN (NEW.parent_session_id <> OLD.parent_session_id OR NEW.parent_stream_id <> OLD.parent_stream_id
    OR NEW.contract <> OLD.contract OR NEW.max_active_children <> OLD.max_active_children
    OR NEW.queue_seq < OLD.queue_seq OR NEW.dispatch_seq < OLD.dispatch_seq)
EXECUTE FUNCTION leasehold_agents.urm_reject('URM_SCHEDULER_REPLAY_ORDER_INVALID');

CREATE TRIGGER urm_session_stays BEFORE DELETE ON leasehold_agents.urm_session FOR EACH ROW
EXECUTE FUNCTION leasehold_agents.urm_reject('URM_SCHEDULER_REPLAY_ORDER_INVALID');

CREATE TABLE leasehold_agents.urm_stream (
    stream_id text COLLATE "C" CONSTRAINT "urm_stream.stream_id" PRIMARY KEY,
    parent_session_id text COLLATE "C" NOT NULL REFERENCES leasehold_agents.urm_session,
    last_seq bigint NOT NULL);

CREATE INDEX urm_stream_session ON leasehold_agents.urm_stream (parent_session_id, stream_id);

CREATE TRIGGER urm_stream_grows BEFORE UPDATE ON leasehold_agents.urm_stream FOR EACH ROW
WHEN (NEW.stream_id <> OLD.stream_id OR NEW.parent_session_id <> OLD.parent_session_id OR NEW.last_seq <= OLD.last_seq)
EXECUTE FUNCTION leasehold_agents.urm_reject('URM_SCHEDULER_REPLAY_ORDER_INVALID');

CREATE TRIGGER urm_stream_stays BEFORE DELETE ON leasehold_agents.urm_stream FOR EACH ROW
EXECUTE FUNCTION leasehold_agents.urm_reject('URM_SCHEDULER_REPLAY_ORDER_INVALID');

CREATE TABLE leasehold_agents.urm_event (
    stream_id text COLLATE "C" NOT NULL REFERENCES leasehold_agents.urm_stream,
    seq bigint NOT NULL CHECK (seq >= 1),
    parent_session_id text COLLATE "C" NOT NULL,
    child_id text COLLATE "C",
    event text NOT NULL,
    is_mirror integer NOT NULL CHECK (is_mirror IN (0, 1)),
    body text NOT NULL,
    CONSTRAINT "urm_event.seq" PRIMARY KEY (stream_id, seq));

CREATE UNIQUE INDEX "urm_event.child_id" ON leasehold_agents.urm_event (child_id)
WHERE is_mirror = 0 AND event IN ('WORKER_PASS', 'WORKER_FAIL');

CREATE TRIGGER urm_event_keeps BEFORE UPDATE OR DELETE ON leasehold_agents.urm_event FOR EACH ROW
EXECUTE FUNCTION leasehold_agents.urm_reject('URM_EVENT_APPEND_ONLY');

CREATE TRIGGER urm_event_stays BEFORE TRUNCATE ON leasehold_agents.urm_event
EXECUTE FUNCTION leasehold_agents.urm_reject('URM_EVENT_APPEND_ONLY');

CREATE TABLE leasehold_agents.urm_dispatch_token (
    child_id text COLLATE "C" CONSTRAINT "urm_dispatch_token.child_id" PRIMARY KEY,
    parent_session_id text COLLATE "C" NOT NULL REFERENCES leasehold_agents.urm_session,
    parent_stream_id text NOT NULL,
    parent_seq bigint NOT NULL,
    queue_seq bigint NOT NULL CHECK (queue_seq >= 1),
    dispatch_seq bigint CHECK (dispatch_seq >= 1),
    worker_run_id text,
    phase text NOT NULL CHECK (phase IN ('queued', 'leased', 'started', 'terminal')),
    cancel_request_id text,
    CONSTRAINT urm_dispatch_token_lease CHECK (
        (dispatch_seq IS NULL) = (worker_run_id IS NULL)
        AND (phase <> 'queued' OR dispatch_seq IS NULL)
        AND (phase NOT IN ('leased', 'started') OR dispatch_seq IS NOT NULL)),
    CONSTRAINT "urm_dispatch_token.dispatch_seq" UNIQUE (parent_session_id, dispatch_seq),
    CONSTRAINT "urm_dispatch_token.queue_seq" UNIQUE (parent_session_id, queue_seq),
    CONSTRAINT "urm_dispatch_token.worker_run_id" UNIQUE (parent_session_id, worker_run_id));

CREATE INDEX urm_dispatch_token_phase ON leasehold_agents.urm_dispatch_token (parent_session_id, phase, queue_seq);

CREATE TRIGGER urm_dispatch_token_begins BEFORE INSERT ON leasehold_agents.urm_dispatch_token FOR EACH ROW
WHEN (NEW.phase <> 'queued')
EXECUTE FUNCTION leasehold_agents.urm_reject('URM_DISPATCH_PHASE_INVALID');

CREATE TRIGGER urm_dispatch_token_advances BEFORE UPDATE ON leasehold_agents.urm_dispatch_token FOR EACH ROW
WHEN (OLD.phase = 'terminal' OR (NEW.phase <> OLD.phase AND OLD.phase || ' ' || NEW.phase NOT IN (
    'queued leased', 'leased started', 'started terminal', 'leased terminal', 'queued terminal')))
EXECUTE FUNCTION leasehold_agents.urm_reject('URM_DISPATCH_PHASE_INVALID');

CREATE TRIGGER urm_dispatch_token_keeps BEFORE UPDATE ON leasehold_agents.urm_dispatch_token FOR EACH ROW
WHEN (NEW.child_id <> OLD.child_id OR NEW.parent_session_id <> OLD.parent_session_id
    OR NEW.parent_stream_id <> OLD.parent_stream_id OR NEW.parent_seq <> OLD.parent_seq
    OR NEW.queue_seq <> OLD.queue_seq
    OR (OLD.dispatch_seq IS NOT NULL AND NEW.dispatch_seq IS DISTINCT FROM OLD.dispatch_seq)
    OR (OLD.dispatch_seq IS NULL AND NEW.dispatch_seq IS NOT NULL AND NEW.phase <> 'leased')
    OR (OLD.worker_run_id IS NOT NULL AND NEW.worker_run_id IS DISTINCT FROM OLD.worker_run_id)
    OR (OLD.cancel_request_id IS NOT NULL AND NEW.cancel_request_id IS DISTINCT FROM OLD.cancel_request_id))
EXECUTE FUNCTION leasehold_agents.urm_reject('URM_DISPATCH_TOKEN_IMMUTABLE');

CREATE TRIGGER urm_dispatch_token_stays BEFORE DELETE ON leasehold_agents.urm_dispatch_token FOR EACH ROW
EXECUTE FUNCTION leasehold_agents.urm_reject('URM_DISPATCH_TOKEN_IMMUTABLE');

CREATE TABLE leasehold_agents.urm_request (
    endpoint text NOT NULL,
    client_request_id text NOT NULL,
    body_sha256 text NOT NULL,
    answer text NOT NULL,
    answered_ts text NOT NULL,
    CONSTRAINT "urm_request.client_request_id" PRIMARY KEY (endpoint, client_request_id));

CREATE TRIGGER urm_request_keeps BEFORE UPDATE ON leasehold_agents.urm_request FOR EACH ROW
EXECUTE FUNCTION leasehold_agents.urm_reject('URM_EVENT_APPEND_ONLY');
