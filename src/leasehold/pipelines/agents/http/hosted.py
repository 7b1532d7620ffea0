"""The sessions that this process coordinates for its clients; others, of the same database, are reached through it.

A server that was killed leaves its sessions to the next one, which takes them up before it accepts anything: their
children are ended by the recovery, and new ones may be spawned.
"""

import threading
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from leasehold.canonical import decode
from leasehold.errors import LeaseholdError
from leasehold.pipelines.agents import tokens
from leasehold.pipelines.agents.child_budget import read_totals
from leasehold.pipelines.agents.coordinator.engine_jobs import gone_check
from leasehold.pipelines.agents.coordinator.session import (
    STOP,
    Session,
    SessionRequest,
    cancel,
    check_lost,
    find_start,
    spawn,
    start_session,
)
from leasehold.pipelines.agents.errors import RecoveryPending, SessionInactive
from leasehold.pipelines.agents.events import events_of, present
from leasehold.pipelines.agents.http.errors import report
from leasehold.pipelines.agents.http.fields import SESSION_ID, SpawnRequest, StopSessionRequest
from leasehold.pipelines.agents.http.limits import LOCK_SECONDS, STOPPED_AT_ONCE_MAX, TAKEN_UP_AT_ONCE_MAX
from leasehold.pipelines.agents.place import AgentsPlace
from leasehold.pipelines.agents.plan.values import ChildBudget
from leasehold.pipelines.agents.records.records import Transaction
from leasehold.pipelines.agents.requests import Answer, find_answer
from leasehold.pipelines.agents.sessions import SessionTerms, read_session
from leasehold.pipelines.agents.specs import find_child

RESULT: Final = "result.json"


class HostedSessions:
    """Sessions by name. Threads may share it; what is done to one is done one after the other."""

    def __init__(self, place: AgentsPlace) -> None:
        self.place = place
        self._running: dict[str, Session] = {}
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._left: dict[str, SessionRequest] = {}

    def take_up(self) -> None:
        """Coordinate the sessions that were started by requests to a server that is gone, in threads.

        The engine keeps back for a while what has lost several coordinators; nothing is accepted for it meanwhile.
        """
        is_gone = gone_check(self.place.app)
        left = [name for name, coordinator in self.place.records.read(_requested) if is_gone(coordinator)]
        self._left = {name: self._request_of(name) for name in left}
        for number in range(min(len(left), TAKEN_UP_AT_ONCE_MAX)):
            names = left[number::TAKEN_UP_AT_ONCE_MAX]
            threading.Thread(target=self._take_up_each, args=(names,), name="agents-take-up", daemon=True).start()

    def _take_up_each(self, names: list[str]) -> None:
        for name in names:
            try:
                with self._locks[name]:
                    self._run(self._left[name])
            except LeaseholdError as error:
                report(error)  # it can be started again
            finally:
                del self._left[name]

    def _check_taken_up(self, parent_session_id: str) -> None:
        if parent_session_id in self._left:
            raise RecoveryPending(parent_session_id=parent_session_id)

    def _request_of(self, parent_session_id: str) -> SessionRequest:
        """Return the request that opens a stored session as it is."""
        found = self.place.records.read(lambda transaction: read_session(transaction, parent_session_id))
        has_stream = found.parent_stream_id.startswith("copilot:")
        terms = SessionTerms(
            parent_session_id, found.contract, found.max_active_children, found.accounting_mode, has_stream
        )
        totals = read_totals(self.place.records, parent_session_id)
        return SessionRequest(terms, ChildBudget(**{lane.value: total.limit for lane, total in totals.items()}))

    def start(self, request: SessionRequest) -> Answer:
        with self._locks[request.terms.parent_session_id]:
            stored = find_start(self.place, request)
            return self._run(request).answer if stored is None else stored

    def _run(self, request: SessionRequest) -> Session:
        session = start_session(self.place, request)
        if (lost := self._running.pop(session.parent_session_id, None)) is not None:
            lost.close()  # its lease had been lost, or it could not have been started
        self._running[session.parent_session_id] = session
        session.start()
        return session

    def stop(self, request: StopSessionRequest) -> Answer:
        """End a session's children and leave it."""
        session_id = request.parent_session_id
        self._check_taken_up(session_id)
        with self._locks[session_id]:
            if (stored := self.place.records.read(lambda transaction: _find_stop(transaction, request))) is not None:
                return stored
            if (session := self._running.get(session_id)) is None:
                raise SessionInactive("This server does not coordinate it.", parent_session_id=session_id)
            try:
                return session.stop(request.client_request_id)
            finally:
                session.close()  # one that failed leaves its lease too, so that it can be started again
                del self._running[session_id]

    def spawn(self, request: SpawnRequest) -> Answer:
        session_id, child, request_id = request.parent_session_id, request.child, request.client_request_id
        self._check_taken_up(session_id)
        if not self._locks[session_id].acquire(timeout=LOCK_SECONDS):
            raise RecoveryPending("It is being started or stopped.", parent_session_id=session_id)
        try:
            if (session := self._running.get(session_id)) is not None:
                check_lost(self.place, session_id, request.again_of)
                return session.spawn(child, request_id, child_id=request.child_id, again_of=request.again_of)
            named = {"child_id": request.child_id, "again_of": request.again_of}
            return spawn(self.place, session_id, child, request_id, **named)
        finally:
            self._locks[session_id].release()

    def cancel(self, child_id: str, client_request_id: str) -> Answer:
        token = self.place.records.read(lambda transaction: tokens.find(transaction, child_id))
        if (session := self._running.get(token.parent_session_id)) is not None:
            return session.cancel(child_id, client_request_id)
        return cancel(self.place, child_id, client_request_id)

    def child(self, child_id: str) -> dict[str, Any]:
        """Return what is stored of a child, and its output, if there is one."""
        found = self.place.records.read(lambda transaction: _child(transaction, child_id))
        result = self.place.child_home(found["parent_session_id"], child_id) / RESULT
        return found | ({"output": decode(result.read_bytes())} if result.exists() else {})

    def close(self) -> None:
        """Stop the children of all sessions, and leave these so that they can be started again."""
        with ThreadPoolExecutor(STOPPED_AT_ONCE_MAX) as pool:
            stopped = [pool.submit(session.stop, is_complete=False) for session in self._running.values()]
        for session in self._running.values():
            session.close()
        for future in stopped:
            future.result()


def _requested(transaction: Transaction) -> list[tuple[str, str]]:
    """Return the sessions with a coordinator that were started by a request, with the coordinator's name."""
    return [
        (name, coordinator)
        for name, coordinator in transaction.run("session/coordinated")
        if transaction.run("request/started", parent_session_id=name)[0][0]
    ]


def _find_stop(transaction: Transaction, request: StopSessionRequest) -> Answer | None:
    read_session(transaction, request.parent_session_id)
    return find_answer(transaction, STOP, request.client_request_id, {SESSION_ID: request.parent_session_id})


def _child(transaction: Transaction, child_id: str) -> dict[str, Any]:
    token, child = tokens.find(transaction, child_id), find_child(transaction, child_id)
    events = [decode(event.body) for event in events_of(transaction, token.stream_id)]
    named = present(again_of=child.again_of, cancel_request_id=token.cancel_request_id)
    found = {"child_id": child_id, "parent_session_id": token.parent_session_id, "name": child.name}
    return {**found, **named, "phase": token.phase.value, "token": token.plain(), "events": events}
