"""The runner: calls handlers. `async def` on one event loop, `def` on threads, `isolated=True` in a child process.

It never blocks the claimer, and nothing a handler does can stop the heartbeat, which has threads of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from functools import partial
from queue import SimpleQueue
from typing import Any

from leasehold.errors import LeaseholdError, Released
from leasehold.model.failure.failure import Failure
from leasehold.model.lease import Progress, Reclaim, Settlement
from leasehold.runtime.attempt import Attempt, State, judge
from leasehold.runtime.claim.held import HeldAttempts
from leasehold.runtime.commit.committer import Committer
from leasehold.runtime.effects.effects import Ledger
from leasehold.runtime.effects.ledger import AttemptLedger
from leasehold.runtime.execute.event_loop import LoopRunner
from leasehold.runtime.execute.isolated import parent
from leasehold.runtime.observe.events import EventLog
from leasehold.runtime.task import settle
from leasehold.store import Store


class DirectChannel:
    """How an attempt in this process speaks to the engine."""

    def __init__(self, store: Store, committer: Committer, attempt: Attempt, held: HeldAttempts) -> None:
        self._store = store
        self._committer = committer
        self._attempt = attempt
        self._held = held
        self.ledger: Ledger = AttemptLedger(store, committer, attempt)  # effects of many tasks share its commits

    def inputs(self) -> dict[str, Any]:
        """Read the outputs of the stages before."""
        return self._store.stages.inputs(self._attempt.lease.task_id)

    def report_progress(self, progress: str) -> None:
        """Report progress."""
        self._committer.report_progress(Progress(self._attempt.lease.task_id, self._attempt.lease.fence, progress))

    @property
    def cancelled(self) -> bool:
        """Whether the task shall stop."""
        return self._attempt.cancel_reason is not None

    @property
    def lost(self) -> bool:
        """Whether the lease no longer stands."""
        return self._attempt.state is State.LOST

    @property
    def stopping(self) -> bool:
        """Whether the worker is being stopped."""
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
        self._lanes = LoopRunner(self._run_async, partial(events.component_failed, "loop"))

    def start(self) -> None:
        """Begin taking attempts."""
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

    async def _run_async(self, attempt: Attempt) -> None:
        if not attempt.begin():
            self._leave(attempt)
            return
        try:
            called = attempt.call(self._channel)
            if attempt.task is not None:
                attempt.task.effects.ahead.home = self._lanes.loop
            result = await called
            if attempt.task is not None:
                await settle(attempt.task)
            settlement = attempt.succeed(result)
        except Released as error:
            await _rest(attempt)
            self._give_back(attempt, error)
            return
        except BaseException as error:  # noqa: BLE001 — whatever a handler raises is its failure, not ours
            await _rest(attempt)
            settlement = attempt.fail(error)
        self._finish(attempt, settlement)

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
            self._run_sync(attempt)
            with self._lock:
                self._assigned -= 1

    def _run_sync(self, attempt: Attempt) -> None:
        if not attempt.begin():
            self._leave(attempt)
            return
        try:
            settlement = self._call_isolated(attempt) if attempt.handler.isolated else self._call(attempt)
        except Released as error:
            self._give_back(attempt, error)
            return
        except BaseException as error:  # noqa: BLE001
            settlement = attempt.fail(error)
        self._finish(attempt, settlement)

    def _call(self, attempt: Attempt) -> Settlement:
        return attempt.work(self._channel)

    def _call_isolated(self, attempt: Attempt) -> Settlement:
        attempt.handler.check(parent.fields_of(attempt.lease))
        outcome = parent.run(attempt, self._channel(attempt), self._store.url)
        if isinstance(outcome, Failure):
            return judge(attempt.lease, attempt.handler, outcome)
        return attempt.succeed(outcome.value, outcome.trace, outcome.posts)

    def _channel(self, attempt: Attempt) -> DirectChannel:
        return DirectChannel(self._store, self._committer, attempt, self._held)

    def _give_back(self, attempt: Attempt, error: Released) -> None:
        """Release a task whose handler stops because this worker does; otherwise it has failed."""
        if not self._held.is_stopping or attempt.task is None:
            self._finish(attempt, attempt.fail(error))
        else:
            attempt.task.effects.when_no_transaction(partial(self._release, attempt))

    def _release(self, attempt: Attempt) -> None:
        """Have a thread give it back, with whatever else has come back by then: a loop must not wait for a database."""
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
        except LeaseholdError as trouble:  # the sweeper takes them back when their leases are over
            self._events.component_failed("runner", trouble)
        finally:
            for attempt in attempts:
                self._held.drop(attempt)
                self._held.free_slot(attempt)

    def _finish(self, attempt: Attempt, settlement: Settlement) -> None:
        """Hand over the end, once no transaction holds the lease that it would have to wait for."""
        if attempt.task is None:
            self._hand_over(attempt, settlement)
        else:
            attempt.task.effects.when_no_transaction(partial(self._hand_over, attempt, settlement))

    def _hand_over(self, attempt: Attempt, settlement: Settlement) -> None:
        if settlement.status != "DONE":
            self._events.attempt_failed(attempt.lease, settlement)
        if attempt.end():
            self._committer.settle(attempt, settlement)
        else:
            self._held.drop(attempt)
        self._held.free_slot(attempt)

    def _leave(self, attempt: Attempt) -> None:
        if attempt.state is State.LOST:
            self._held.drop(attempt)
        self._held.free_slot(attempt)


async def _rest(attempt: Attempt) -> None:
    """Wait for what a handler that failed has gone ahead of."""
    if attempt.task is not None:
        await attempt.task.effects.ahead.drain_async()
