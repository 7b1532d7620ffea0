"""The runner: calls handlers. `async def` on one event loop, `def` on threads, `isolated=True` in a child process.

A thread is started when there is none left for an attempt, and ends when it has had none for a while. It never blocks
the claimer, and nothing a handler does can stop the heartbeat, which has threads of its own.
"""

import threading
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from leasehold.errors import LeaseholdError
from leasehold.model import lease as endings
from leasehold.model.effect import Entry, Intent, Record
from leasehold.model.failure.failure import Failure
from leasehold.model.failure.loss import ChildCrash, Reclaim, convict
from leasehold.model.lease import Progress, Settlement, cancelled
from leasehold.runtime import limits
from leasehold.runtime.attempt import Attempt, Interruption, State
from leasehold.runtime.claim.held import HeldAttempts
from leasehold.runtime.claim.suspects import Suspects
from leasehold.runtime.commit.committer import Committer
from leasehold.runtime.commit.requests import AnyReply, CommitChannel, Item, run_blocking
from leasehold.runtime.ending import judge, timed_out
from leasehold.runtime.execute.event_loop import LoopRunner
from leasehold.runtime.execute.isolated import parent
from leasehold.runtime.observe.events import EventLog
from leasehold.runtime.task import STOPPED
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
        return self._attempt.interruption is not None

    @property
    def interrupted(self) -> bool:
        return self._attempt.interruption is not None

    @property
    def lost(self) -> bool:
        return self._attempt.state is State.LOST

    @property
    def stopping(self) -> bool:
        return self._held.is_stopping


class Runner:
    """Starts attempts and hands their ends to the committer."""

    def __init__(
        self,
        store: Store,
        held: HeldAttempts,
        committer: Committer,
        events: EventLog,
        suspects: Suspects,
    ) -> None:
        self._store = store
        self._held = held
        self._committer = committer
        self._events = events
        self._suspects = suspects
        self._waiting: SimpleQueue[Attempt | None] = SimpleQueue()
        self._returned: list[Attempt] = []
        self._threads = 0
        self._assigned = 0
        self._abandoned = 0
        self._replaced: set[Attempt] = set()
        self._lock = threading.Lock()
        self._lanes = LoopRunner(lambda attempt: attempt.run(self), partial(events.component_failed, "loop"))

    def run_on_loop(self, awaitable: Awaitable[Any]) -> Any:
        """Wait on this thread for what runs on the loop of async handlers."""
        return self._lanes.wait_for(awaitable)

    def run(self, attempts: Iterable[Attempt]) -> None:
        """Start attempts, each where its handler belongs."""
        on_loop: list[Attempt] = []
        for attempt in attempts:
            if self._is_on_thread(attempt):
                self._waiting.put(attempt)
                self._add_thread()
            else:
                on_loop.append(attempt)
        if on_loop:
            self._lanes.take(on_loop)

    def close(self) -> None:
        """Stop taking attempts; what runs is not waited for."""
        for _ in range(self._threads):
            self._waiting.put(None)
        self._lanes.close()

    def call(self, attempt: Attempt) -> Any:
        self._held.begin(attempt)
        if not attempt.isolated:
            return attempt.call(self._channel)
        end = parent.run(attempt, self._channel(attempt), self._store.url)
        if isinstance(end, ChildCrash):
            return self._judge_crash(attempt, end)
        if end is None or self._needs_worker(attempt, end):
            self._suspects.cannot_isolate(attempt.lease.route)
            return None
        return end

    @staticmethod
    def _needs_worker(attempt: Attempt, end: Settlement) -> bool:
        """Whether a suspect failed for good where its kind does not run: set-up code of the worker may be missing."""
        return end.status == "ERROR" and not attempt.handler.isolated and attempt.interruption is None

    def _judge_crash(self, attempt: Attempt, crash: ChildCrash) -> Settlement | None:
        """Convict a suspect that crashed; one that was asked to end together with its worker is given back.

        So is one whose process ended while it was prepared for the handler, which proves nothing against the task.
        """
        if crash.was_asked and self._held.is_stopping:
            return None
        if attempt.lease.is_suspect and attempt.interruption is None and not crash.was_asked:
            if crash.began:
                others = self._store.losses.ran_with(attempt.lease.task_id)
                return endings.failed(attempt.lease, convict(crash, attempt.lease.losses, others))
            if not attempt.handler.isolated:
                self._suspects.cannot_isolate(attempt.lease.route)
                return None
        return judge(attempt.lease, attempt.handler, crash.failure())

    def settle(self, attempt: Attempt, end: Settlement | None) -> None:
        if attempt.lease.losses and attempt.lease.is_suspect:
            self._suspects.on_end(end)
        if attempt.is_abandoned:
            self._return(attempt)
        elif end is None:
            self._release(attempt)
        elif attempt.end():
            self._committer.settle(attempt, end)
            self._held.free_slot(attempt)
        else:
            self._held.drop(attempt)
            self._held.free_slot(attempt)

    def abandon(self, attempt: Attempt) -> None:
        """End an interrupted attempt without its handler, which did not stop in time; a transaction is waited for."""
        attempt.limit_at = None
        if attempt.interruption is Interruption.TIMED_OUT:
            end = timed_out(attempt.lease, attempt.handler, None)
        else:
            end = cancelled(attempt.lease, Failure("CANCELLED", STOPPED))
        attempt.when_no_transaction(partial(self._abandon, attempt, end))

    def _abandon(self, attempt: Attempt, end: Settlement) -> None:
        """Settle it, and give its place and its thread's to others, as often as there are places at all.

        Beyond that a place is occupied until the handler returns: threads that hang must not grow without limit.
        """
        with self._lock:
            if not attempt.end():
                return
            attempt.is_abandoned = True
            self._abandoned += 1
            abandoned = self._abandoned
            is_replaced = abandoned <= self._held.capacity.concurrency
            if is_replaced and self._is_on_thread(attempt):
                self._replaced.add(attempt)
                self._threads -= 1
                self._assigned -= 1
        self._committer.settle(attempt, end)
        self._events.attempt_abandoned(attempt.lease, abandoned, place="free" if is_replaced else "occupied")
        if is_replaced:
            self._held.free_slot(attempt)

    def _return(self, attempt: Attempt) -> None:
        """Note that the handler of an abandoned attempt has returned after all; its result is too late."""
        with self._lock:
            self._abandoned -= 1
        self._held.free_slot(attempt)
        self._events.abandoned_returned(attempt.lease)

    @staticmethod
    def _is_on_thread(attempt: Attempt) -> bool:
        return attempt.isolated or not attempt.handler.is_async

    def skip(self, attempt: Attempt) -> None:
        """Free the slot of an attempt that never started."""
        if attempt.lose():
            self._events.lease_lost(attempt.lease, "its time ran out before it started")
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
        while (attempt := self._next()) is not None:
            run_blocking(attempt.run(self))
            with self._lock:
                if attempt in self._replaced:  # another thread has its place
                    self._replaced.remove(attempt)
                    return
                self._assigned -= 1

    def _next(self) -> Attempt | None:
        """Return the next attempt for this thread; None if it shall end, because there was none for a while."""
        while True:
            with suppress(Empty):
                return self._waiting.get(timeout=limits.THREAD_REST_SECONDS)
            if self._may_end():
                return None

    def _may_end(self) -> bool:
        """Count a thread off, unless an attempt has come that counts on it."""
        with self._lock:
            if not self._waiting.empty():
                return False
            self._threads -= 1
            return True

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
