"""Reads a session from what is stored: tokens and events, the engine's jobs, their budgets and journals, evidence.

It changes nothing. Texts that people wrote or that children sent are cleaned of secrets here, once, for every reader.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from leasehold import Budget, clock
from leasehold.canonical import parse
from leasehold.pipelines.agents.child.redaction import clean, redactor_for
from leasehold.pipelines.agents.child_budget import NO_LIMIT
from leasehold.pipelines.agents.coordinator.engine_jobs import find_session_job
from leasehold.pipelines.agents.events import EventName, events_of
from leasehold.pipelines.agents.place import AgentsPlace
from leasehold.pipelines.agents.records.records import Transaction
from leasehold.pipelines.agents.sessions import ParentSession, read_session
from leasehold.pipelines.agents.specs import StoredChild, find_child
from leasehold.pipelines.agents.tokens import DispatchPhase, Token, tokens_of
from leasehold.pipelines.agents.view.codes import status_of_end
from leasehold.pipelines.agents.view.files import PageFiles, TextRoom
from leasehold.pipelines.agents.view.values import (
    LANES,
    ChildStatus,
    ChildTimes,
    ChildView,
    Debit,
    LaneUse,
    LaneView,
    SessionView,
)
from leasehold.pipelines.agents.view.words import spent_words

CLAIMED: Final = "claimed"
DEBITS: Final = {"spent": False, "refused": True}


@dataclass(slots=True)
class _Moments:
    """When a child came to its phases, and the detail of its end; from the parent's stream."""

    queued: datetime | None = None
    started: datetime | None = None
    ended: datetime | None = None
    end: dict[str, Any] = field(default_factory=dict)

    @property
    def code(self) -> str:
        return str(self.end.get("code", ""))


@dataclass(frozen=True, slots=True)
class _Records:
    """What the tables of agents hold of a session."""

    session: ParentSession
    tokens: list[Token]
    children: dict[str, StoredChild]
    moments: dict[str, _Moments]

    def of(self, token: Token) -> _ChildRecords:
        return _ChildRecords(token, self.children[token.child_id], self.moments[token.child_id])


@dataclass(frozen=True, slots=True)
class _ChildRecords:
    token: Token
    stored: StoredChild
    moments: _Moments


@dataclass(slots=True)
class _Journal:
    """What the engine's journal holds of a child's job."""

    leased: datetime | None = None
    debits: list[tuple[str, Debit]] = field(default_factory=list)


def read_view(place: AgentsPlace, parent_session_id: str, page: Path | None = None) -> SessionView:
    """Read a session; with `page`, where a report will be, also its files, with links from there."""
    found = place.records.read(lambda transaction: _records(transaction, parent_session_id))
    job = find_session_job(place.app, parent_session_id)
    totals = {} if job is None else job.budget
    limits = {name: total.limit for name, total in totals.items()}
    journals = {child_id: _journal(place, child, limits) for child_id, child in found.children.items()}
    files = None if page is None else PageFiles(page, TextRoom())
    read = (_child(place, found.of(token), journals[token.child_id], limits, files) for token in found.tokens)
    queued = [moments.queued for moments in found.moments.values() if moments.queued is not None]
    return SessionView(
        session_id=parent_session_id,
        contract=found.session.contract,
        max_active_children=found.session.max_active_children,
        coordinator=found.session.coordinator,
        opened=min(queued, default=None),
        read_at=clock.moment(clock.wall()),
        children=tuple(read),
        lanes=tuple(_lanes(totals, journals.values())),
    )


def _records(transaction: Transaction, parent_session_id: str) -> _Records:
    session = read_session(transaction, parent_session_id)
    tokens = list(tokens_of(transaction, parent_session_id))
    children = {token.child_id: find_child(transaction, token.child_id) for token in tokens}
    moments: defaultdict[str, _Moments] = defaultdict(_Moments)
    for event in events_of(transaction, session.parent_stream_id):
        body = parse(event.body)
        _note(moments[body["detail"].get("child_id", "")], event.event, body)
    return _Records(session, tokens, children, moments)


def _note(moments: _Moments, name: str, body: dict[str, Any]) -> None:
    at = datetime.fromisoformat(body["ts"])
    match name:
        case EventName.TOOL_CALL_START:
            moments.queued = at
        case EventName.WORKER_START:
            moments.started = at
        case EventName.WORKER_FAIL | EventName.WORKER_PASS:
            moments.ended, moments.end = at, body["detail"]


def _journal(place: AgentsPlace, child: StoredChild, limits: dict[str, int]) -> _Journal:
    """Read when a child's job was leased, and its debits; a child that was never dispatched has no job."""
    found, after = _Journal(), 0
    while child.job_id is not None and (events := place.app.journal.of(child.job_id, after=after)):
        after = events[-1].id
        for event in events:
            if event.name == CLAIMED:
                found.leased = clock.moment(event.at)
            elif event.name in DEBITS and event.detail:
                detail = parse(event.detail)
                lane, total = detail["name"], limits[detail["name"]] - detail["left"]
                debit = Debit(clock.moment(event.at), child.child_id, detail["amount"], total, DEBITS[event.name])
                found.debits.append((lane, debit))
    return found


def _lanes(totals: Mapping[str, Budget], journals: Iterable[_Journal]) -> Iterator[LaneView]:
    by_lane: defaultdict[str, list[Debit]] = defaultdict(list)
    for journal in journals:
        for lane, debit in journal.debits:
            by_lane[lane].append(debit)
    for name in LANES if totals else ():
        total = totals[name]
        debits = sorted(by_lane[name], key=lambda debit: (debit.total, debit.at))
        yield LaneView(name, None if total.limit >= NO_LIMIT else total.limit, total.spent, tuple(debits))


def _child(
    place: AgentsPlace, facts: _ChildRecords, journal: _Journal, limits: Mapping[str, int], files: PageFiles | None
) -> ChildView:
    token, stored, moments = facts.token, facts.stored, facts.moments
    redactor = redactor_for(os.environ[name] for name in stored.spec.env if name in os.environ)
    shown = ChildView(
        child_id=token.child_id,
        name=clean(redactor, stored.name),
        status=_status(token, moments.code),
        phase=token.phase.value,
        queue_seq=token.queue_seq,
        dispatch_seq=token.dispatch_seq,
        times=ChildTimes(moments.queued, journal.leased, moments.started, moments.ended),
        code=moments.code,
        reason=clean(redactor, _reason(moments.end)),
        cancel_request_id=token.cancel_request_id,
        again_of=stored.again_of,
        command=tuple(clean(redactor, word) for word in stored.spec.command),
        use=_use(journal, limits),
    )
    if files is None:
        return shown
    return files.added(shown, place.child_home(token.parent_session_id, token.child_id), redactor)


def _status(token: Token, code: str) -> ChildStatus:
    if token.phase is DispatchPhase.QUEUED:
        return ChildStatus.WAITING
    return status_of_end(code) if token.phase is DispatchPhase.TERMINAL else ChildStatus.RUNNING


def _reason(end: dict[str, Any]) -> str:
    """Return why a child failed: in the words of what refused it if there are any."""
    if refused := end.get("refused"):
        debit = spent_words({refused["budget_lane"]: refused["amount"]})
        return f"A debit of {debit} did not fit into what was left."
    return str(end.get("message") or end.get("reason") or "").replace("_", " ")


def _use(journal: _Journal, limits: Mapping[str, int]) -> dict[str, LaneUse]:
    found: dict[str, LaneUse] = {}
    for lane, debit in journal.debits:
        use = found.get(lane, LaneUse())
        spent, refused = (0, debit.amount) if debit.is_refused else (debit.amount, 0)
        left = None if limits[lane] >= NO_LIMIT else limits[lane] - debit.total
        found[lane] = LaneUse(use.spent + spent, use.refused + refused, left)
    return found
