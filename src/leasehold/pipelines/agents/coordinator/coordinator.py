"""The loop of a coordinator: leases children in the order of the queue, runs each in a thread, passes cancels on.

One thread calls `step`; it alone leases. Children that other processes have spawned, and cancels that they have stored,
are found within `SIGNAL_SECONDS`. When the session's lease is lost, everything is killed and nothing more is begun.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from leasehold import Cancelled, LeaseholdError, Overtaken
from leasehold.pipelines.agents.child.stopping import StopReason
from leasehold.pipelines.agents.child_dispatch import Failed, cancel_child, fail_waiting, finish_child, lease_child
from leasehold.pipelines.agents.child_workflow import ActiveChild, SessionRuntime, run_child_workflow, take_child
from leasehold.pipelines.agents.coordinator.watch import Watch
from leasehold.pipelines.agents.errors import ChildCode, SessionInactive
from leasehold.pipelines.agents.limits import MESSAGE_MAX, SIGNAL_SECONDS
from leasehold.pipelines.agents.records.limits import PAGE
from leasehold.pipelines.agents.runtime_state import sha256_of
from leasehold.pipelines.agents.tokens import DispatchPhase, Token

STOPPED = Failed("stopped", ChildCode.STOPPED)


class Coordinator:
    """Runs the children of one session. The registry of those that are active is here, and nowhere else."""

    def __init__(self, runtime: SessionRuntime, session_id: str, active_max: int) -> None:
        self._runtime = runtime
        self._session_id = session_id
        self._active_max = active_max
        self._active: dict[str, ActiveChild] = {}
        self._threads: dict[str, threading.Thread] = {}
        self._lock = threading.Lock()
        self._woken = threading.Event()
        self._failure: BaseException | None = None
        self._watch = Watch(runtime.lease, self.active, self._lose)
        self._is_idle = False
        self._has_ended = False

    def start(self) -> None:
        self._watch.start()

    def active(self) -> Iterable[ActiveChild]:
        with self._lock:
            return list(self._active.values())

    @property
    def is_idle(self) -> bool:
        """Whether the last step found nothing that waits or runs."""
        return self._is_idle

    def take_ended(self) -> bool:
        """Return whether a child has ended since the last call."""
        found, self._has_ended = self._has_ended, False
        return found

    def wake(self) -> None:
        self._woken.set()

    def wait(self, seconds: float = SIGNAL_SECONDS) -> None:
        """Wait until a child has ended or been spawned here, at most so long."""
        self._woken.wait(seconds)
        self._woken.clear()

    def renew(self) -> None:
        """Renew the leases now, which also finds what was cancelled in the engine."""
        self._watch.renew()

    def step(self) -> None:
        """Pass cancels on and start what may start. Raises what has ended this coordinator."""
        self._check()
        self._pass_engine_cancels()
        is_waiting = False
        for child_id, phase, request_id in self._signals():
            if phase == DispatchPhase.QUEUED:
                is_waiting = True
            elif (child := self._active.get(child_id)) is not None and child.cancel_request_id is None:
                child.cancel(request_id)
        while is_waiting and len(self._active) < self._active_max:
            token = lease_child(self._runtime.state, self._session_id)
            if token is None:
                is_waiting = False
                break
            # crash here: leased but not started by its coordinator
            self._run(token)
        self._is_idle = not is_waiting and not self._active

    def _pass_engine_cancels(self) -> None:
        """Cancel the children whose jobs, or whose session's job, somebody has cancelled with `leasehold cancel`."""
        is_whole = self._runtime.lease.held.task.cancelled
        cancelled = [child.token.child_id for child in self.active() if child.held.task.cancelled]
        for child_id in self._open() if is_whole else cancelled:
            cancel_child(self._runtime.state, child_id, sha256_of({"engine": child_id}))

    def _open(self) -> list[str]:
        named = {"parent_session_id": self._session_id, "rows_max": PAGE}
        found = self._runtime.state.records.read(lambda transaction: transaction.run("token/open", **named))
        return [row[0] for row in found]

    def _signals(self) -> list[Any]:
        named = {"parent_session_id": self._session_id}
        return self._runtime.state.records.read(lambda transaction: transaction.run("token/signals", **named))

    def _run(self, token: Token) -> None:
        try:
            child = take_child(self._runtime, token)
        except Overtaken:
            raise
        except (LeaseholdError, Cancelled) as error:
            failed = Failed("not_run", ChildCode.FAILED, {"message": str(error)[:MESSAGE_MAX]})
            finish_child(self._runtime.state, token, failed)
            return
        thread = threading.Thread(target=self._follow, args=(child,), name=f"agents-{token.dispatch_seq}")
        with self._lock:
            self._active[token.child_id] = child
            self._threads[token.child_id] = thread
        thread.start()

    def _follow(self, child: ActiveChild) -> None:
        """Run one child to its end, in a thread of its own."""
        try:
            run_child_workflow(self._runtime, child, self._watch.wake)
        except BaseException as error:  # noqa: BLE001 — raised again by the loop, which ends with it
            self._failure = self._failure or error
        finally:
            with self._lock:
                del self._active[child.token.child_id]
                del self._threads[child.token.child_id]
            child.stop.close()
            self._has_ended = True
            self._woken.set()

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _lose(self) -> None:
        """Kill everything: the lease of the session no longer stands, so another coordinator may have it."""
        self._failure = self._failure or SessionInactive("Its lease was lost.", parent_session_id=self._session_id)
        for child in self.active():
            child.lose()
        self._woken.set()

    def stop(self, *, is_urgent: bool = False) -> None:
        """Have every active child stopped, with the grace; `is_urgent` without."""
        for child in self.active():
            child.stop.request(StopReason.FAILURE if is_urgent else StopReason.CANCEL)

    def end_all(self, is_urgent: Callable[[], bool] = lambda: False) -> None:
        """Wait for the children that were stopped, and end those that wait."""
        while threads := self._running():
            threads[0].join(SIGNAL_SECONDS)
            if is_urgent():
                self.stop(is_urgent=True)
        self._check()
        fail_waiting(self._runtime.state, self._session_id, STOPPED)

    def _running(self) -> list[threading.Thread]:
        with self._lock:
            return list(self._threads.values())

    def close(self) -> None:
        """Kill what still runs, and wait for it."""
        self.stop(is_urgent=True)
        deadline = time.monotonic() + 60
        while (threads := self._running()) and time.monotonic() < deadline:
            threads[0].join(SIGNAL_SECONDS)
        self._watch.close()
        self._runtime.starter.close()
