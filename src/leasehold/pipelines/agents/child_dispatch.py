"""Dispatch of children: spawn, lease, start, finish, cancel. Each is one transaction: phase, events and answer.

All lock the session's row first, so that sequence numbers are unique and the cap holds; and all work on the state that
is passed in. `queued → leased → started → terminal`; a child that never started may end too.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from leasehold.pipelines.agents import tokens
from leasehold.pipelines.agents.errors import ChildCode, PhaseInvalid
from leasehold.pipelines.agents.events import CANCEL, SPAWN, EventName, UrmEvent, append, present, worker_events
from leasehold.pipelines.agents.records.limits import RECOVERY_BATCH
from leasehold.pipelines.agents.records.records import Transaction
from leasehold.pipelines.agents.requests import Answer, answer_once
from leasehold.pipelines.agents.runtime_state import RuntimeState
from leasehold.pipelines.agents.sessions import ParentSession, check_active, check_id, check_recovered, lock, lock_own
from leasehold.pipelines.agents.tokens import DispatchPhase, Token

TOOL: Final = "spawn_agent"
CANCELLED: Final = "cancelled"
Join = Callable[[Transaction, Token], object]


@dataclass(frozen=True, slots=True)
class Spawn:
    """A request for a child. `body` is what the child is to do; `again_of` names a lost child that this one repeats."""

    parent_session_id: str
    client_request_id: str
    child_id: str | None = None
    body: Mapping[str, Any] = field(default_factory=dict)
    again_of: str | None = None

    def plain(self) -> dict[str, Any]:
        """Return what makes two requests the same."""
        named = present(child_id=self.child_id, again_of=self.again_of)
        return {"parent_session_id": self.parent_session_id, "body": dict(self.body), **named}


@dataclass(frozen=True, slots=True)
class Passed:
    """The child ended well."""

    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failed:
    """The child ended otherwise. An end after a cancel names the request, unless the child passed nevertheless."""

    reason: str
    code: str
    detail: Mapping[str, Any] = field(default_factory=dict)


End = Passed | Failed


def spawn_child(state: RuntimeState, spawn: Spawn, join: Join | None = None) -> Answer:
    """Queue a child; the same request again returns the first answer.

    `join` runs in the same transaction: with `app.transaction(transaction.connection)` it submits the engine's job.
    """
    check_recovered(state)

    def work(transaction: Transaction) -> Answer:
        session, ts = lock(transaction, spawn.parent_session_id), state.now()

        def act() -> Answer:
            check_active(session)  # a request that was answered before is answered again after the session's end
            token = _spawn_child_v2(transaction, state, session, spawn, ts)
            if join is not None:
                join(transaction, token)
            return {"status": "queued", **token.plain()}

        return answer_once(transaction, SPAWN, spawn.client_request_id, spawn.plain(), ts, act)

    return state.records.write(work)


def _spawn_child_v2(
    transaction: Transaction, state: RuntimeState, session: ParentSession, spawn: Spawn, ts: str
) -> Token:
    parent = {"parent_session_id": session.parent_session_id}
    queue_seq = int(transaction.run("session/next_queue_seq", **parent)[0][0])
    child_id = spawn.child_id or state.ids.child_id(session.parent_session_id, queue_seq)
    detail = {"tool_name": TOOL, "child_id": check_id(child_id, "child_id"), "queue_seq": queue_seq}
    detail |= present(client_request_id=spawn.client_request_id, again_of=spawn.again_of)
    context = {"session_id": session.parent_session_id, "role": "copilot", "endpoint": SPAWN}
    event = UrmEvent(session.parent_stream_id, EventName.TOOL_CALL_START, ts, child_id, context, detail)
    (parent_seq,) = append(transaction, state, session.parent_session_id, [event])
    place = {"parent_stream_id": session.parent_stream_id, "parent_seq": parent_seq, "queue_seq": queue_seq}
    return Token.of(transaction.run("token/insert", child_id=child_id, **parent, **place)[0])


def lease_child(state: RuntimeState, parent_session_id: str) -> Token | None:
    """Lease the child that has waited longest; None if none waits or enough are active."""
    check_recovered(state)

    def work(transaction: Transaction) -> Token | None:
        session = lock_own(transaction, state, parent_session_id)
        parent = {"parent_session_id": parent_session_id}
        if transaction.run("token/count_active", **parent)[0][0] >= session.max_active_children:
            return None
        if not (waiting := transaction.run("token/next_queued", **parent)):
            return None
        dispatch_seq = int(transaction.run("session/next_dispatch_seq", **parent)[0][0])
        worker_run_id = state.ids.worker_run_id(parent_session_id, dispatch_seq)
        anchors = {"dispatch_seq": dispatch_seq, "worker_run_id": check_id(worker_run_id, "worker_run_id")}
        return Token.of(transaction.run("token/lease", child_id=waiting[0][0], **anchors)[0])

    return state.records.write(work)


def start_child(state: RuntimeState, lease: Token, join: Callable[[Transaction], object] = lambda _: None) -> Token:
    """Mark a leased child as started, with WORKER_START. `join` runs in the same transaction."""

    def work(transaction: Transaction) -> Token:
        lock_own(transaction, state, lease.parent_session_id)
        rows = transaction.run("token/start", child_id=lease.child_id, worker_run_id=lease.worker_run_id)
        if not rows:
            raise _wrong_phase(transaction, lease, DispatchPhase.STARTED)
        token = Token.of(rows[0])
        started = worker_events(EventName.WORKER_START, token, state.now())
        append(transaction, state, token.parent_session_id, started)
        join(transaction)
        return token

    return state.records.write(work)


def finish_child(state: RuntimeState, lease: Token, end: End, join: Join = lambda *_: None) -> Token:
    """End a leased or started child, with WORKER_PASS or WORKER_FAIL. `join` runs in the same transaction."""

    def work(transaction: Transaction) -> Token:
        lock_own(transaction, state, lease.parent_session_id)
        token = tokens.find(transaction, lease.child_id)
        ready = (DispatchPhase.STARTED,) if isinstance(end, Passed) else (DispatchPhase.LEASED, DispatchPhase.STARTED)
        if token.worker_run_id != lease.worker_run_id or token.phase not in ready:
            raise _wrong_phase(transaction, lease, DispatchPhase.TERMINAL)
        (ended,) = end_children_unlocked(transaction, state, [(token, end)], state.now())
        join(transaction, ended)
        return ended

    return state.records.write(work)


def fail_waiting(state: RuntimeState, parent_session_id: str, failed: Failed) -> int:
    """End every child that waits in a session's queue, some in each transaction; return how many."""

    def work(transaction: Transaction) -> int:
        lock_own(transaction, state, parent_session_id)
        named = {"parent_session_id": parent_session_id, "rows_max": RECOVERY_BATCH}
        waiting = [Token.of(row) for row in transaction.run("token/waiting", **named)]
        if waiting:
            end_children_unlocked(transaction, state, [(token, failed) for token in waiting], state.now())
        return len(waiting)

    count = 0
    while ended := state.records.write(work):
        count += ended
    return count


def end_children_unlocked(
    transaction: Transaction, state: RuntimeState, ends: Sequence[tuple[Token, End]], ts: str
) -> list[Token]:
    """Make tokens of one session terminal with their end events; the caller holds the session's lock."""
    rows = transaction.run("token/terminate", child_ids=json.dumps([token.child_id for token, _ in ends]))
    ended = {row[0]: Token.of(row) for row in rows}
    for token, _ in ends:
        if token.child_id not in ended:
            raise _wrong_phase(transaction, token, DispatchPhase.TERMINAL)
    events = [event for token, end in ends for event in _end_events(ended[token.child_id], end, ts)]
    append(transaction, state, ends[0][0].parent_session_id, events)
    return [ended[token.child_id] for token, _ in ends]


def _end_events(token: Token, end: End, ts: str) -> tuple[UrmEvent, UrmEvent]:
    if isinstance(end, Passed):
        return worker_events(EventName.WORKER_PASS, token, ts, end.detail)
    named = present(reason=end.reason, code=end.code, cancel_request_id=token.cancel_request_id)
    return worker_events(EventName.WORKER_FAIL, token, ts, {**end.detail, **named})


def _fail_queued_child_unlocked(
    transaction: Transaction, state: RuntimeState, token: Token, failed: Failed, ts: str
) -> Token:
    """End a child that was never leased; the caller holds the session's lock."""
    if token.phase is not DispatchPhase.QUEUED:
        raise _wrong_phase(transaction, token, DispatchPhase.TERMINAL)
    return end_children_unlocked(transaction, state, [(token, failed)], ts)[0]


def fail_queued_child(state: RuntimeState, child_id: str, failed: Failed) -> Token:
    """End a child that waits and must not be started."""

    def work(transaction: Transaction) -> Token:
        token = _locked(transaction, child_id)
        lock_own(transaction, state, token.parent_session_id)
        return _fail_queued_child_unlocked(transaction, state, token, failed, state.now())

    return state.records.write(work)


def cancel_child(state: RuntimeState, child_id: str, client_request_id: str) -> Answer:
    """Cancel a child, from any process. The request's id is the `cancel_request_id`; the same request is one cancel.

    A waiting child ends at once; one that is leased or started is to be stopped and finished by its coordinator.
    """

    def work(transaction: Transaction) -> Answer:
        token, ts = _locked(transaction, child_id), state.now()

        def act() -> Answer:
            status, found = _cancel_unlocked(transaction, state, token, client_request_id, ts)
            return {"status": status, **found.plain()}

        return answer_once(transaction, CANCEL, client_request_id, {"child_id": child_id}, ts, act)

    return state.records.write(work)


def _cancel_unlocked(
    transaction: Transaction, state: RuntimeState, token: Token, request_id: str, ts: str
) -> tuple[str, Token]:
    if token.phase is DispatchPhase.TERMINAL:
        return "already_terminal", token
    rows = transaction.run("token/request_cancel", child_id=token.child_id, cancel_request_id=request_id)
    if not rows:
        return "already_requested", token
    found = Token.of(rows[0])
    requested = worker_events(EventName.WORKER_CANCEL, found, ts, {"cancel_request_id": request_id})
    append(transaction, state, found.parent_session_id, requested)
    if found.phase is not DispatchPhase.QUEUED:
        return "cancel_requested", found
    return CANCELLED, _fail_queued_child_unlocked(transaction, state, found, Failed(CANCELLED, ChildCode.CANCELLED), ts)


def _locked(transaction: Transaction, child_id: str) -> Token:
    """Lock a child's session, and read the child's token after that."""
    lock(transaction, tokens.find(transaction, child_id).parent_session_id)
    return tokens.find(transaction, child_id)


def _wrong_phase(transaction: Transaction, token: Token, wanted: DispatchPhase) -> PhaseInvalid:
    found = tokens.find(transaction, token.child_id)
    return PhaseInvalid(
        f"It is {found.phase.value}.", child_id=token.child_id, phase=found.phase.value, wanted=wanted.value
    )
