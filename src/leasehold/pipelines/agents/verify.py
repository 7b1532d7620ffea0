"""Verify: whether phases, events and order that are stored are those that dispatch and recovery write.

It trusts nothing but the rows: a phase without its event, or the other way round, is an atomicity violation; a number
that is missing, repeated or out of order makes the order invalid.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from leasehold.canonical import encode, parse
from leasehold.errors import PayloadInvalid
from leasehold.pipelines.agents.errors import PhaseEventMismatch, ReplayOrderInvalid, UrmError
from leasehold.pipelines.agents.events import SCHEMA, EventName, StoredEvent, events_of, worker_detail
from leasehold.pipelines.agents.records.records import AgentRecords, Transaction
from leasehold.pipelines.agents.sessions import ParentSession, read_session
from leasehold.pipelines.agents.tokens import DispatchPhase, Token, tokens_of

# A child's own worker events by their letters, in order; a cancel may come before the start.
LETTERS: Final = {
    EventName.WORKER_START: "S",
    EventName.WORKER_CANCEL: "C",
    EventName.WORKER_FAIL: "F",
    EventName.WORKER_PASS: "P",
}
HISTORIES: Final = {
    DispatchPhase.QUEUED: re.compile(r"\Z"),
    DispatchPhase.LEASED: re.compile(r"C?\Z"),
    DispatchPhase.STARTED: re.compile(r"(SC?|CS)\Z"),
    DispatchPhase.TERMINAL: re.compile(r"(C?F|SC?[FP]|CS[FP])\Z"),
}
PHASE_OF: Final = {"S": "started", "F": "terminal", "P": "terminal"}
ACTIVE: Final = (DispatchPhase.LEASED, DispatchPhase.STARTED)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A stored event with what its body holds."""

    stream_id: str
    row: StoredEvent
    body: dict[str, Any]

    @property
    def detail(self) -> dict[str, Any]:
        found = self.body.get("detail")
        return found if isinstance(found, dict) else {}

    @property
    def letter(self) -> str:
        return LETTERS.get(self.row.event, "")  # type: ignore[call-overload, no-any-return]


@dataclass(frozen=True, slots=True)
class _Histories:
    """A session's events by child: its own, their mirrors on the parent's stream, and the calls that spawned it."""

    own: dict[str, list[Parsed]] = field(default_factory=lambda: defaultdict(list))
    mirrors: dict[str, list[Parsed]] = field(default_factory=lambda: defaultdict(list))
    calls: dict[str, list[Parsed]] = field(default_factory=lambda: defaultdict(list))


def verify(records: AgentRecords, parent_session_id: str | None = None) -> int:
    """Check one session or all; raise the first violation, or return how many tokens are sound."""

    def work(transaction: Transaction) -> int:
        count = 0
        for session in _sessions(transaction, parent_session_id):
            for found in violations(transaction, session):
                raise found
            count += sum(1 for _ in tokens_of(transaction, session.parent_session_id))
        return count

    return records.read(work)


def violations(transaction: Transaction, session: ParentSession) -> Iterator[UrmError]:
    """Yield everything that is wrong with a session."""
    histories = _Histories()
    yield from _check_streams(transaction, session, histories)
    tokens = list(tokens_of(transaction, session.parent_session_id))
    yield from _check_order(session, tokens)
    for token in tokens:
        yield from _check_spawn(session, token, histories.calls[token.child_id])
        yield from _check_history(token, histories.own[token.child_id], histories.mirrors[token.child_id])
    known = {token.child_id for token in tokens}
    for child_id in sorted((histories.own.keys() | histories.mirrors.keys() | histories.calls.keys()) - known):
        yield PhaseEventMismatch("Events of a child that has no token.", child_id=child_id)


def _sessions(transaction: Transaction, parent_session_id: str | None) -> list[ParentSession]:
    if parent_session_id is not None:
        return [read_session(transaction, parent_session_id)]
    return [ParentSession(*row) for row in transaction.pages("session/page", 0, "")]


def _check_streams(transaction: Transaction, session: ParentSession, found: _Histories) -> Iterator[UrmError]:
    """Check that each stream counts from one to its counter, and sort its events by child."""
    streams = transaction.pages("stream/page", 0, "", parent_session_id=session.parent_session_id)
    for stream_id, last_seq in list(streams):
        seq = 0
        for seq, row in enumerate(events_of(transaction, stream_id), start=1):
            if (event := _parse(stream_id, row)) is None or row.seq != seq:
                yield ReplayOrderInvalid(f"Event {row.seq} of {stream_id}.", stream_id=stream_id, seq=row.seq)
            elif row.child_id is not None:
                home = found.mirrors if row.is_mirror else found.own if event.letter else found.calls
                home[row.child_id].append(event)
        if seq != last_seq:
            yield ReplayOrderInvalid(f"{stream_id} counts {last_seq}.", stream_id=stream_id, events=seq)


def _parse(stream_id: str, row: StoredEvent) -> Parsed | None:
    """Read an event's body; None if it is not canonical, or not what the row declares."""
    try:
        body = parse(row.body)
        is_canonical = isinstance(body, dict) and encode(body) == row.body
    except PayloadInvalid:
        return None
    if not is_canonical:
        return None
    declared = {"schema": SCHEMA, "stream_id": stream_id, "seq": row.seq, "event": row.event}
    event = Parsed(stream_id, row, body)
    is_same = all(body.get(name) == value for name, value in declared.items())
    return event if is_same and event.detail.get("child_id") == row.child_id else None


def _check_order(session: ParentSession, tokens: list[Token]) -> Iterator[UrmError]:
    """Check that the queue was served in its order, within the cap, and that the counters are not behind."""
    named = {"parent_session_id": session.parent_session_id}
    dispatched = [token for token in tokens if token.dispatch_seq is not None]
    for one, other in pairwise(dispatched):
        if (one.dispatch_seq or 0) >= (other.dispatch_seq or 0):
            yield ReplayOrderInvalid("A child was dispatched before an earlier one.", **named, child_id=other.child_id)
    for one, other in pairwise(tokens):
        if one.parent_seq >= other.parent_seq:
            yield ReplayOrderInvalid("Queue and parent stream differ.", **named, child_id=other.child_id)
    last = dispatched[-1].queue_seq if dispatched else 0
    if any(token.phase is DispatchPhase.QUEUED and token.queue_seq < last for token in tokens):
        yield ReplayOrderInvalid("A child waits that was passed over.", **named)
    if sum(token.phase in ACTIVE for token in tokens) > session.max_active_children:
        yield ReplayOrderInvalid("More children are active than may be.", **named)
    if session.queue_seq < _largest(token.queue_seq for token in tokens):
        yield ReplayOrderInvalid("The counter of the queue is behind.", **named)
    if session.dispatch_seq < _largest(token.dispatch_seq or 0 for token in dispatched):
        yield ReplayOrderInvalid("The counter of dispatches is behind.", **named)


def _largest(numbers: Iterable[int]) -> int:
    return max(numbers, default=0)


def _check_spawn(session: ParentSession, token: Token, calls: list[Parsed]) -> Iterator[UrmError]:
    """Check that the parent's stream has the call that queued the child, where the token points to."""
    wanted = (session.parent_stream_id, token.parent_seq, EventName.TOOL_CALL_START.value)
    found = [(call.stream_id, call.row.seq, call.row.event) for call in calls]
    if found != [wanted] or token.parent_stream_id != session.parent_stream_id:
        yield ReplayOrderInvalid("The spawn is not on the parent's stream.", child_id=token.child_id)


def _check_history(token: Token, own: list[Parsed], mirrors: list[Parsed]) -> Iterator[UrmError]:
    """Check that a child's events are those that lead to its phase, and are mirrored."""
    letters = "".join(event.letter for event in own)
    if not HISTORIES[token.phase].match(letters) or ("P" in letters and token.dispatch_seq is None):
        names = [event.row.event for event in own]
        yield PhaseEventMismatch(f"It is {token.phase.value}.", child_id=token.child_id, events=names)
    if [_copied(event) for event in own] != [_copied(event) for event in mirrors]:
        yield PhaseEventMismatch("The parent's stream has other events of it.", child_id=token.child_id)
    if any(event.stream_id != token.stream_id for event in own):
        yield PhaseEventMismatch("An event is on another child's stream.", child_id=token.child_id)
    if any(event.stream_id != token.parent_stream_id or event.row.seq <= token.parent_seq for event in mirrors):
        yield PhaseEventMismatch("An event is before its spawn.", child_id=token.child_id)
    yield from _check_details(token, own)


def _copied(event: Parsed) -> dict[str, Any]:
    return {name: value for name, value in event.body.items() if name not in ("stream_id", "seq")}


def _check_details(token: Token, own: list[Parsed]) -> Iterator[UrmError]:
    """Check the detail minimum, and that a cancel is named by its request and by the end that followed."""
    anchors = worker_detail(token)
    del anchors["phase_at_event"]
    cancelled: str | None = None
    for event in own:
        detail, letter = event.detail, event.letter
        is_complete = all(detail.get(name) == value for name, value in anchors.items())
        is_complete &= detail.get("phase_at_event") == PHASE_OF.get(letter, detail.get("phase_at_event", ""))
        is_complete &= letter != "F" or bool(detail.get("reason") and detail.get("code"))
        cancelled = token.cancel_request_id if letter == "C" else cancelled
        expected = cancelled if letter in "CF" else None
        if not is_complete or detail.get("cancel_request_id") != expected:
            yield PhaseEventMismatch(f"The detail of {event.row.event}.", child_id=token.child_id)
    if cancelled != token.cancel_request_id:
        yield PhaseEventMismatch("A cancel has no WORKER_CANCEL.", child_id=token.child_id)
