"""A session that this process coordinates: opened after a recovery, fed with children, stopped so that it can go on.

    with open_place(Path(".")) as place, start_session(place, SessionRequest(SessionTerms("demo"))) as session:
        session.start()
        session.spawn(ChildSpec("one", ("true",), "/"), "request-1")
        session.wait_idle()

Other processes use `spawn` and `cancel` of this module: both only write what the coordinator finds.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Self

from leasehold.pipelines.agents.child.process import ChildStarter
from leasehold.pipelines.agents.child_dispatch import Failed, Spawn, cancel_child, fail_queued_child, spawn_child
from leasehold.pipelines.agents.child_recovery import RecoveredChild, recover
from leasehold.pipelines.agents.child_workflow import SessionRuntime
from leasehold.pipelines.agents.coordinator.coordinator import Coordinator
from leasehold.pipelines.agents.coordinator.engine_jobs import SessionLease, counted, gone_check, hold_session
from leasehold.pipelines.agents.coordinator.leftovers import keep_lost_diffs
from leasehold.pipelines.agents.coordinator.snapshot import SessionSnapshot, read_snapshot
from leasehold.pipelines.agents.errors import LOST, ChildUnknown, RecoveryPending
from leasehold.pipelines.agents.event_files import EventFiles
from leasehold.pipelines.agents.events import present
from leasehold.pipelines.agents.place import AgentsPlace
from leasehold.pipelines.agents.plan.values import ChildBudget
from leasehold.pipelines.agents.records.records import Transaction
from leasehold.pipelines.agents.requests import Answer, answer_once, find_answer
from leasehold.pipelines.agents.runtime_state import DeterministicIds, RuntimeState, fixed_time
from leasehold.pipelines.agents.sessions import SessionTerms, close_within, open_within, read_session
from leasehold.pipelines.agents.specs import ChildSpec, ChildState, children_of, store_spec
from leasehold.pipelines.agents.tokens import Token

START: Final = "urm.copilot.start"
STOP: Final = "urm.copilot.stop"
SPAWNER: Final = "no coordinator"


@dataclass(frozen=True, slots=True)
class SessionRequest:
    """What a session is opened with. `ts`: deterministic mode: this time everywhere, and ids that are hashes."""

    terms: SessionTerms
    budget: ChildBudget = field(default_factory=ChildBudget)
    client_request_id: str | None = None
    ts: str | None = None

    def plain(self) -> dict[str, Any]:
        """Return what makes two requests the same."""
        terms = self.terms
        found: dict[str, Any] = {"parent_session_id": terms.parent_session_id, "contract": terms.contract}
        found |= present(ts=self.ts)
        found |= {"max_active_children": terms.max_active_children, "accounting_mode": terms.accounting_mode}
        return {**found, "has_stream": terms.has_stream, "budget": self.budget.plain()}


def start_session(place: AgentsPlace, request: SessionRequest) -> AgentSession:
    """Coordinate a session: hold its lease, end the children of coordinators that are gone, then open it.

    Nothing is accepted before the recovery is over, and nothing runs before `start`.
    """
    request.terms.check()
    session_id = request.terms.parent_session_id
    find_start(place, request)
    lease = hold_session(place.app, session_id, str(place.root), request.budget)
    try:
        state = _state(place, lease.coordinator, request)
        recovered = recover(state, gone_check(place.app))
        # crash here: recovered but not opened
        lease.cancel_leftovers()
        keep_lost_diffs(place, session_id)
        answer = state.records.write(lambda transaction: _open(transaction, state, request, len(recovered)))
    except BaseException:
        lease.held.release()
        raise
    runtime = SessionRuntime(place, state, lease, ChildStarter())
    return AgentSession(runtime, request.terms, answer, recovered)


def find_start(place: AgentsPlace, request: SessionRequest) -> Answer | None:
    """Return how this request was answered before; a conflict if it was another one under the same id."""
    request_id = request.client_request_id
    if request_id is None:
        return None
    return place.records.read(lambda transaction: find_answer(transaction, START, request_id, request.plain()))


def _state(place: AgentsPlace, coordinator: str, request: SessionRequest) -> RuntimeState:
    if request.ts is None:
        return RuntimeState(place.records, coordinator)
    return RuntimeState(place.records, coordinator, fixed_time(request.ts), DeterministicIds())


def _open(transaction: Transaction, state: RuntimeState, request: SessionRequest, recovered: int) -> Answer:
    """Open the session, also if the request was answered before: then by a coordinator that is gone."""
    session = open_within(transaction, state, request.terms)
    found = {"parent_session_id": session.parent_session_id, "parent_stream_id": session.parent_stream_id}
    answer: Answer = {"status": "started", **found, "contract": session.contract, "recovered": recovered}
    answer["max_active_children"] = session.max_active_children
    if request.client_request_id is None:
        return answer
    return answer_once(transaction, START, request.client_request_id, request.plain(), state.now(), lambda: answer)


class AgentSession:
    """One session. Its loop runs in a thread after `start`, or wherever `step` is called."""

    def __init__(
        self, runtime: SessionRuntime, terms: SessionTerms, answer: Answer, recovered: list[RecoveredChild]
    ) -> None:
        self.parent_session_id = terms.parent_session_id
        self.answer = answer
        self.recovered = recovered
        self.coordinator = Coordinator(runtime, terms.parent_session_id, terms.max_active_children)
        self._runtime = runtime
        self._thread: threading.Thread | None = None
        self._is_ending = threading.Event()
        self._failure: BaseException | None = None
        self._is_closed = False
        self.coordinator.start()

    @property
    def lease(self) -> SessionLease:
        return self._runtime.lease

    @property
    def state(self) -> RuntimeState:
        return self._runtime.state

    def start(self) -> None:
        """Dispatch children in a thread of its own."""
        self._thread = threading.Thread(target=self._loop, name=f"agents-{self.parent_session_id}", daemon=True)
        self._thread.start()

    def _loop(self) -> None:
        try:
            while not self._is_ending.is_set():
                self.coordinator.step()
                self.coordinator.wait()
        except BaseException as error:  # noqa: BLE001 — raised by the next call
            self._failure = error

    def spawn(
        self, child: ChildSpec, client_request_id: str, *, child_id: str | None = None, again_of: str | None = None
    ) -> Answer:
        """Queue a child; the same request again returns the first answer."""
        self._check()
        found = _spawn(self.state, self.parent_session_id, child, client_request_id, child_id, again_of)
        self.coordinator.wake()
        return found

    def fail(self, child_id: str, failed: Failed) -> None:
        """End a child that waits and must not be started."""
        fail_queued_child(self.state, child_id, failed)

    def cancel(self, child_id: str, client_request_id: str) -> Answer:
        """Cancel a child; the same request again returns the first answer."""
        found = cancel_child(self.state, child_id, client_request_id)
        self.coordinator.wake()
        return found

    def children(self) -> list[ChildState]:
        """Return all children, also those of earlier coordinators, in the order of the queue."""
        return self.state.records.read(lambda transaction: list(children_of(transaction, self.parent_session_id)))

    def snapshot(self, waiting: tuple[str, ...] = ()) -> SessionSnapshot:
        active = {child.token.child_id: child for child in self.coordinator.active()}
        return read_snapshot(self._runtime.place, self.parent_session_id, active, waiting)

    def wait_idle(self) -> None:
        """Wait until no child is queued or active."""
        while True:
            self._check()
            if self.snapshot().is_over:
                return
            threading.Event().wait(0.05)

    def stop(
        self,
        client_request_id: str | None = None,
        *,
        is_complete: bool = True,
        is_urgent: Callable[[], bool] = lambda: False,
    ) -> Answer:
        """End what runs, with the grace until it `is_urgent`, and what waits; then leave the session."""
        self._end_loop()
        self.coordinator.stop()
        self.coordinator.end_all(is_urgent)
        return self.leave(client_request_id, is_complete=is_complete)

    def leave(self, client_request_id: str | None = None, *, is_complete: bool = True) -> Answer:
        """Leave a session whose children have all ended; it has ended too if it is complete and none was lost."""
        self._end_loop()
        states = self.children()
        is_over = is_complete and not any(state.code in LOST for state in final(states))
        passed = sum(state.has_passed for state in states)

        def work(transaction: Transaction) -> Answer:
            counts = counted(passed, len(states) - passed)
            return self._leave(transaction, client_request_id, counts, is_over=is_over)

        answer = self.state.records.write(work)
        self._is_closed = True
        self.close()
        keep_lost_diffs(self._runtime.place, self.parent_session_id)
        EventFiles(self.state.records, self._runtime.place.home(self.parent_session_id) / "events").project_session(
            self.parent_session_id
        )
        return answer

    def _leave(
        self, transaction: Transaction, client_request_id: str | None, counts: dict[str, int], *, is_over: bool
    ) -> Answer:
        def act() -> Answer:
            close_within(transaction, self.state, self.parent_session_id)
            with self._runtime.place.app.transaction(transaction.connection):
                if is_over:
                    self._runtime.lease.held.done(counts)
                else:
                    self._runtime.lease.held.release()
            return {"status": "ended" if is_over else "stopped", "parent_session_id": self.parent_session_id, **counts}

        if client_request_id is None:
            return act()
        body = {"parent_session_id": self.parent_session_id}
        return answer_once(transaction, STOP, client_request_id, body, self.state.now(), act)

    def _end_loop(self) -> None:
        self._is_ending.set()
        self.coordinator.wake()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._check()

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """Kill what still runs. A session that was not left is recovered when it is opened next."""
        self._is_ending.set()
        self.coordinator.close()
        if not self._is_closed:
            self._is_closed = True
            self._runtime.lease.held.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


Session = AgentSession  # its name in `leasehold.pipelines.agents`


def final(states: list[ChildState]) -> list[ChildState]:
    """Return the children that were not spawned again."""
    repeated = {state.again_of for state in states}
    return [state for state in states if state.child_id not in repeated]


def spawn(
    place: AgentsPlace,
    parent_session_id: str,
    child: ChildSpec,
    client_request_id: str,
    *,
    child_id: str | None = None,
    again_of: str | None = None,
) -> Answer:
    """Queue a child from a process that does not coordinate its session; a living coordinator must have it."""
    check_lost(place, parent_session_id, again_of)
    session = place.records.read(lambda transaction: read_session(transaction, parent_session_id))
    is_gone: Callable[[str], bool] = gone_check(place.app)
    if session.coordinator is not None and is_gone(session.coordinator):
        raise RecoveryPending("Its coordinator is gone; open the session again.", parent_session_id=parent_session_id)
    state = RuntimeState(place.records, SPAWNER)
    state.recovered.set()
    return _spawn(state, parent_session_id, child, client_request_id, child_id, again_of)


def check_lost(place: AgentsPlace, parent_session_id: str, again_of: str | None) -> None:
    """Refuse to repeat what was not lost: a child that failed would no longer count as failed."""
    if again_of is None:
        return
    states = place.records.read(lambda transaction: list(children_of(transaction, parent_session_id)))
    if not any(state.child_id == again_of and state.code in LOST for state in states):
        raise ChildUnknown("`again_of` names a child of this session that was lost.", again_of=again_of)


def cancel(place: AgentsPlace, child_id: str, client_request_id: str) -> Answer:
    """Cancel a child from any process."""
    return cancel_child(RuntimeState(place.records, SPAWNER), child_id, client_request_id)


def _spawn(
    state: RuntimeState,
    parent_session_id: str,
    child: ChildSpec,
    client_request_id: str,
    child_id: str | None,
    again_of: str | None,
) -> Answer:
    def join(transaction: Transaction, token: Token) -> None:
        store_spec(transaction, token, child, again_of)

    request = Spawn(parent_session_id, client_request_id, child_id, child.plain(), again_of)
    return spawn_child(state, request, join)
