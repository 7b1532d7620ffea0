-- 0001_dispatch: Sessions, streams, events, dispatch tokens and answered requests, with the rules that they keep.
CREATE TABLE urm_schema (version INTEGER NOT NULL PRIMARY KEY) STRICT;

CREATE TABLE urm_session (
    parent_session_id TEXT PRIMARY KEY,
    parent_stream_id TEXT NOT NULL UNIQUE,
    contract TEXT NOT NULL CONSTRAINT urm_session_contract CHECK (contract IN ('locked', 'open')),
    max_active_children INTEGER NOT NULL,
    accounting_mode TEXT NOT NULL CONSTRAINT urm_session_accounting_mode CHECK (accounting_mode = 'running_total_v1'),
    coordinator TEXT,
    recovery_ts TEXT,
    queue_seq INTEGER NOT NULL DEFAULT 0,
    dispatch_seq INTEGER NOT NULL DEFAULT 0,
    opened_ts TEXT NOT NULL,
    CONSTRAINT urm_session_max_active_children
        CHECK (max_active_children >= 1 AND (contract = 'open' OR max_active_children <= 2))) STRICT;

CREATE INDEX urm_session_coordinator ON urm_session (coordinator) WHERE coordinator IS NOT NULL;

CREATE TRIGGER urm_session_keeps BEFORE UPDATE ON urm_session
WHEN NEW.parent_session_id <> OLD.parent_session_id OR NEW.parent_stream_id <> OLD.parent_stream_id
    OR NEW.contract <> OLD.contract OR NEW.max_active_children <> OLD.max_active_children
    OR NEW.queue_seq < OLD.queue_seq OR NEW.dispatch_seq < OLD.dispatch_seq
BEGIN SELECT RAISE(ABORT, 'URM_SCHEDULER_REPLAY_ORDER_INVALID'); END;

CREATE TRIGGER urm_session_stays BEFORE DELETE ON urm_session
BEGIN SELECT RAISE(ABORT, 'URM_SCHEDULER_REPLAY_ORDER_INVALID'); END;

CREATE TABLE urm_stream (
    stream_id TEXT PRIMARY KEY,
    parent_session_id TEXT NOT NULL REFERENCES urm_session,
    last_seq INTEGER NOT NULL) STRICT;

CREATE INDEX urm_stream_session ON urm_stream (parent_session_id, stream_id);

CREATE TRIGGER urm_stream_grows BEFORE UPDATE ON urm_stream
WHEN NEW.stream_id <> OLD.stream_id OR NEW.parent_session_id <> OLD.parent_session_id OR NEW.last_seq <= OLD.last_seq
BEGIN SELECT RAISE(ABORT, 'URM_SCHEDULER_REPLAY_ORDER_INVALID'); END;

CREATE TRIGGER urm_stream_stays BEFORE DELETE ON urm_stream
BEGIN SELECT RAISE(ABORT, 'URM_SCHEDULER_REPLAY_ORDER_INVALID'); END;

CREATE TABLE urm_event (
    stream_id TEXT NOT NULL REFERENCES urm_stream,
    seq INTEGER NOT NULL CHECK (seq >= 1),
    parent_session_id TEXT NOT NULL,
    child_id TEXT,
    event TEXT NOT NULL,
    is_mirror INTEGER NOT NULL CHECK (is_mirror IN (0, 1)),
    body TEXT NOT NULL,
    PRIMARY KEY (stream_id, seq)) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX urm_event_end ON urm_event (child_id)
WHERE is_mirror = 0 AND event IN ('WORKER_PASS', 'WORKER_FAIL');

CREATE TRIGGER urm_event_keeps BEFORE UPDATE ON urm_event
BEGIN SELECT RAISE(ABORT, 'URM_EVENT_APPEND_ONLY'); END;

CREATE TRIGGER urm_event_stays BEFORE DELETE ON urm_event
BEGIN SELECT RAISE(ABORT, 'URM_EVENT_APPEND_ONLY'); END;

CREATE TABLE urm_dispatch_token (
    child_id TEXT PRIMARY KEY,
    parent_session_id TEXT NOT NULL REFERENCES urm_session,
    parent_stream_id TEXT NOT NULL,
    parent_seq INTEGER NOT NULL,
    queue_seq INTEGER NOT NULL CHECK (queue_seq >= 1),
    dispatch_seq INTEGER CHECK (dispatch_seq >= 1),
    worker_run_id TEXT,
    phase TEXT NOT NULL CHECK (phase IN ('queued', 'leased', 'started', 'terminal')),
    cancel_request_id TEXT,
    CONSTRAINT urm_dispatch_token_lease CHECK (
        (dispatch_seq IS NULL) = (worker_run_id IS NULL)
        AND (phase <> 'queued' OR dispatch_seq IS NULL)
        AND (phase NOT IN ('leased', 'started') OR dispatch_seq IS NOT NULL)),
    UNIQUE (parent_session_id, dispatch_seq),
    UNIQUE (parent_session_id, queue_seq),
    UNIQUE (parent_session_id, worker_run_id)) STRICT;

CREATE INDEX urm_dispatch_token_phase ON urm_dispatch_token (parent_session_id, phase, queue_seq);

CREATE TRIGGER urm_dispatch_token_begins BEFORE INSERT ON urm_dispatch_token
WHEN NEW.phase <> 'queued'
BEGIN SELECT RAISE(ABORT, 'URM_DISPATCH_PHASE_INVALID'); END;

CREATE TRIGGER urm_dispatch_token_advances BEFORE UPDATE ON urm_dispatch_token
WHEN OLD.phase = 'terminal' OR (NEW.phase <> OLD.phase AND OLD.phase || ' ' || NEW.phase NOT IN (
    'queued leased', 'leased started', 'started terminal', 'leased terminal', 'queued terminal'))
BEGIN SELECT RAISE(ABORT, 'URM_DISPATCH_PHASE_INVALID'); END;

CREATE TRIGGER urm_dispatch_token_keeps BEFORE UPDATE ON urm_dispatch_token
WHEN NEW.child_id <> OLD.child_id OR NEW.parent_session_id <> OLD.parent_session_id
    OR NEW.parent_stream_id <> OLD.parent_stream_id OR NEW.parent_seq <> OLD.parent_seq
    OR NEW.queue_seq <> OLD.queue_seq
    OR (OLD.dispatch_seq IS NOT NULL AND NEW.dispatch_seq IS NOT OLD.dispatch_seq)
    OR (OLD.dispatch_seq IS NULL AND NEW.dispatch_seq IS NOT NULL AND NEW.phase <> 'leased')
    OR (OLD.worker_run_id IS NOT NULL AND NEW.worker_run_id IS NOT OLD.worker_run_id)
    OR (OLD.cancel_request_id IS NOT NULL AND NEW.cancel_request_id IS NOT OLD.cancel_request_id)
BEGIN SELECT RAISE(ABORT, 'URM_DISPATCH_TOKEN_IMMUTABLE'); END;

CREATE TRIGGER urm_dispatch_token_stays BEFORE DELETE ON urm_dispatch_token
BEGIN SELECT RAISE(ABORT, 'URM_DISPATCH_TOKEN_IMMUTABLE'); END;

CREATE TABLE urm_request (
    endpoint TEXT NOT NULL,
    client_request_id TEXT NOT NULL,
    body_sha256 TEXT NOT NULL,
    answer TEXT NOT NULL,
    answered_ts TEXT NOT NULL,
    PRIMARY KEY (endpoint, client_request_id)) STRICT, WITHOUT ROWID;

CREATE TRIGGER urm_request_keeps BEFORE UPDATE ON urm_request
BEGIN SELECT RAISE(ABORT, 'URM_EVENT_APPEND_ONLY'); END;
