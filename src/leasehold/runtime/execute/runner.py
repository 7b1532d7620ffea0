"""The runner: calls handlers. `async def` on one event loop, `def` on threads, `isolated=True` in a child process.

It never blocks the claimer, and nothing a handler does can stop the heartbeat, which has threads of its own.
"""

import threading
from collections.abc import Callable, Iterable
from functools import partial
from queue import SimpleQueue
from typing import Any

from leasehold.errors import LeaseholdError
from leasehold.model.effect import Entry, Intent, Record
from leasehold.model.lease import Progress, Reclaim, Settlement
from leasehold.runtime.attempt import Attempt, State
from leasehold.runtime.claim.held import HeldAttempts
from leasehold.runtime.commit.committer import Committer
from leasehold.runtime.commit.requests import AnyReply, CommitChannel, Item, run_blocking
from leasehold.runtime.execute.event_loop import LoopRunner
from leasehold.runtime.execute.isolated import parent
from leasehold.runtime.observe.events import EventLog
from leasehold.store import Store


class DirectChannel(CommitChannel):
    """How an attempt in this process reaches the engine. The effects of many attempts share commits."""

    def __init__(self, store: Store, committer: Committer, attempt: Attempt, held: HeldAttempts) -> None:
        self._store = store
        self._committer = committer
        self._attempt = attempt
        self._held = held

    def commit(self, item: Item, reply: AnyReply) -> None:
        self._committer.commit(self._attempt, item, reply)

    def transact(self, intent: Intent, act: Callable[[object], Record]) -> Entry:
        return self._store.effects.transact(intent, act)

    def inputs(self) -> dict[str, Any]:
        return self._store.stages.inputs(self._attempt.lease.task_id)

    def report_progress(self, progress: str) -> None:
        self._committer.report_progress(Progress(self._attempt.lease.task_id, self._attempt.lease.fence, progress))

    @property
    def cancelled(self) -> bool:
        return self._attempt.cancel_reason is not None

    @property
    def lost(self) -> bool:
        return self._attempt.state is State.LOST

    @property
    def stopping(self) -> bool:
        return self._held.is_stopping


class Runner:
    """Starts attempts and hands their ends to the committer."""

    def __init__(self, store: Store, held: HeldAttempts, committer: Committer, events: EventLog) -> None:
        self._store = store
        self._held = held
        self._committer = committer
        self._events = events
        self._waiting: SimpleQueue[Attempt | None] = SimpleQueue()
        self._returned: list[Attempt] = []
        self._threads = 0
        self._assigned = 0
        self._lock = threading.Lock()
        self._lanes = LoopRunner(lambda attempt: attempt.run(self), partial(events.component_failed, "loop"))

    def start(self) -> None:
        self._lanes.start()

    def run(self, attempts: Iterable[Attempt]) -> None:
        """Start attempts, each where its handler belongs."""
        on_loop: list[Attempt] = []
        for attempt in attempts:
            if attempt.handler.is_async and not attempt.handler.isolated:
                on_loop.append(attempt)
            else:
                self._waiting.put(attempt)
                self._add_thread()
        if on_loop:
            self._lanes.take(on_loop)

    def close(self) -> None:
        """Stop taking attempts; what runs is not waited for."""
        for _ in range(self._threads):
            self._waiting.put(None)
        self._lanes.close()

    def call(self, attempt: Attempt) -> Any:
        if attempt.handler.isolated:
            return parent.run(attempt, self._channel(attempt), self._store.url)
        return attempt.call(self._channel)

    def settle(self, attempt: Attempt, end: Settlement | None) -> None:
        if end is None:
            self._release(attempt)
            return
        if attempt.end():
            self._committer.settle(attempt, end)
        else:
            self._held.drop(attempt)
        self._held.free_slot(attempt)

    def skip(self, attempt: Attempt) -> None:
        """Free the slot of an attempt that never started."""
        if attempt.state is State.LOST:
            self._held.drop(attempt)
        self._held.free_slot(attempt)

    def _channel(self, attempt: Attempt) -> DirectChannel:
        return DirectChannel(self._store, self._committer, attempt, self._held)

    def _add_thread(self) -> None:
        with self._lock:
            self._assigned += 1
            if self._assigned <= self._threads or self._threads >= self._held.capacity.concurrency:
                return
            self._threads += 1
        try:
            threading.Thread(target=self._run_on, name="leasehold-handler", daemon=True).start()
        except BaseException:
            with self._lock:
                self._threads -= 1
            raise

    def _run_on(self) -> None:
        while (attempt := self._waiting.get()) is not None:
            run_blocking(attempt.run(self))
            with self._lock:
                self._assigned -= 1

    def _release(self, attempt: Attempt) -> None:
        """Release it on a thread, with whatever else was given back by then: a loop must not wait for a database."""
        with self._lock:
            self._returned.append(attempt)
            is_first = len(self._returned) == 1
        if is_first:
            threading.Thread(target=self._release_all, name="leasehold-release", daemon=True).start()

    def _release_all(self) -> None:
        with self._lock:
            attempts, self._returned = self._returned, []
        held = [attempt.lease for attempt in attempts if attempt.end()]
        try:
            self._store.leases.reclaim([Reclaim(lease.task_id, lease.fence, "released") for lease in held])
            self._store.wake({lease.queue for lease in held})
        except LeaseholdError as trouble:  # the sweeper reclaims them when their leases expire
            self._events.component_failed("runner", trouble)
        finally:
            for attempt in attempts:
                self._held.drop(attempt)
                self._held.free_slot(attempt)
