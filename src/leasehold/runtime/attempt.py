"""One attempt, from start to settlement: the file to read.

    begin    unless the attempt was released or lost before it started
    call     the user's function, with the payload's fields as arguments
    finish   wait until the records of its effects are committed: nothing can be recorded after the end
    decide   what came of it: a result, a failure to retry or to bury, a cancel
    settle   hand the end to the committer, which writes it only while the lease stands

`Attempt.run` is these steps. Event loop, threads and isolated processes differ in their `Executor`; a manual lease is
concluded by its holder. The lease is held from the claim until the answer. An attempt that loses it touches nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import Enum, auto
from functools import partial
from typing import Any, Final, Protocol

from leasehold import canonical, clock
from leasehold.errors import Cancelled, EffectInDoubt, PayloadInvalid, Released
from leasehold.model import lease as endings
from leasehold.model.delivery import trace_of
from leasehold.model.failure.failure import Failure, classify
from leasehold.model.lease import Lease, Settlement
from leasehold.model.retry import Bury, decide, jitter_of, seed_of
from leasehold.runtime.handlers import Handler
from leasehold.runtime.task import EngineChannel, Task

_lock: Final = threading.Lock()


class State(Enum):
    """How far an attempt has come in this process."""

    CLAIMED = auto()
    RUNNING = auto()
    ENDED = auto()
    RELEASED = auto()
    LOST = auto()


class Executor(Protocol):
    """Where attempts run: the event loop and the threads of a worker, or an isolated process."""

    def call(self, attempt: Attempt) -> Any:
        """Call the handler; or return the `Settlement` that an isolated process decided on."""

    def settle(self, attempt: Attempt, end: Settlement | None) -> None:
        """Hand over the end; None: release the task, no attempt is spent."""

    def skip(self, attempt: Attempt) -> None:
        """Drop an attempt that was released or lost before it started."""


class Attempt:
    """A held lease and what this process does with it. `deadline` is in uptime microseconds."""

    __slots__ = ("cancel_reason", "deadline", "handler", "lease", "occupies", "renew_at", "state", "stop", "task")

    def __init__(self, lease: Lease, handler: Handler, asked_at: int) -> None:
        self.lease = lease
        self.handler = handler
        self.state = State.CLAIMED
        self.occupies = True
        self.cancel_reason: str | None = None
        self.stop: Callable[[], object] | None = None
        self.task: Task | None = None
        self.extend(asked_at)

    def extend(self, asked_at: int) -> None:
        """Count the lease from the moment it was asked for, which is before the database granted it."""
        span = self.lease.lease_ms * clock.MILLISECOND
        self.deadline = asked_at + span - min(span // 10, clock.SECOND)
        self.renew_at = asked_at + span // 3

    async def run(self, executor: Executor) -> None:
        """Run the attempt to its end. Suspends only where an async handler does: `run_blocking` serves the others."""
        if not self.begin():
            executor.skip(self)
            return
        try:
            result = executor.call(self)
            if self.handler.is_async and not isinstance(result, Settlement):
                result = await result
            end: Settlement | None = await self.conclude(result)
        except BaseException as error:  # noqa: BLE001 — whatever a handler raises is its failure, not ours
            if self.task is not None:
                await self.task.effects.abandon()
            # Released because the worker is being stopped; otherwise `Released` is a failure.
            is_given_back = isinstance(error, Released) and self.task is not None and self.task.stopping
            end = None if is_given_back else self.fail(error)
        if self.task is None:
            executor.settle(self, end)
        else:
            self.task.effects.when_no_transaction(partial(executor.settle, self, end))

    async def conclude(self, result: object) -> Settlement:
        """Wait for records and moves that a handler which returned did not wait for, and decide the end."""
        if self.task is not None:
            await self.task.effects.finish()
            await self.task.states.finish()
        return self.succeed(result)

    def begin(self) -> bool:
        """Start, unless the attempt was released or lost before."""
        return self._change(State.CLAIMED, State.RUNNING)

    def release(self) -> bool:
        """Give the attempt up before it starts."""
        return self._change(State.CLAIMED, State.RELEASED)

    def end(self) -> bool:
        """Mark the attempt as ended; its lease is renewed until the settlement is written. False if it was lost."""
        return self._change(State.RUNNING, State.ENDED)

    def _change(self, before: State, after: State) -> bool:
        with _lock:
            if self.state is not before:
                return False
            self.state = after
            return True

    def lose(self) -> bool:
        """Record that the lease no longer stands, and stop the handler where that is possible."""
        with _lock:
            if self.state in (State.LOST, State.RELEASED):
                return False
            running = self.state is State.RUNNING
            self.state = State.LOST
        if running and self.stop is not None:
            self.stop()
        return True

    def call(self, channel: Callable[[Attempt], EngineChannel]) -> Any:
        """Call the user's function; its task reaches the engine through `channel`."""
        handler = self.handler
        fields = handler.arguments(canonical.decode(self.lease.payload))
        if handler.wants_task:
            self.task = Task(self.lease, channel(self), handler)
            return handler.function(self.task, **fields)
        return handler.function(**fields)

    def succeed(self, result: object) -> Settlement:
        """Decide on a result: it ends the task, unless it cannot be stored."""
        if isinstance(result, Settlement):
            return result
        used, posts = None, None
        if self.task is not None:
            used, posts = self.task.effects.summary(), self.task.posts.all()
        if isinstance(used, EffectInDoubt):  # whatever the handler made of it, a person must resolve it
            return endings.failed(self.lease, classify(used))
        facts = {**(used or {}), **trace_of(posts)}
        detail = canonical.encode(facts) if facts else None
        if result is None:
            return endings.done(self.lease, "null", detail, posts)
        try:
            return endings.done(self.lease, canonical.encode(result), detail, posts)
        except PayloadInvalid as error:
            return endings.failed(self.lease, classify(error))

    def fail(self, error: BaseException) -> Settlement:
        """Decide on a failure: try again, or end the task."""
        try:
            failure = classify(error, self.handler.rules, clock.wall())
        except BaseException:  # noqa: BLE001 — whatever was raised, the attempt ends
            failure = Failure("UNCLASSIFIED", "an exception that cannot be described", retryable=True)
        if isinstance(error, Cancelled):
            return endings.cancelled(self.lease, Failure("CANCELLED", failure.message))
        return judge(self.lease, self.handler, failure)


def judge(lease: Lease, handler: Handler, failure: Failure) -> Settlement:
    """Choose what follows a failure. The jitter's seed is recorded with the delay drawn from it."""
    seed = seed_of(lease.key, lease.route, lease.segment, lease.epoch, lease.attempt)
    decision = decide(failure, lease.attempt, lease.attempts_max, handler.retry, jitter_of(seed))
    if isinstance(decision, Bury):
        return endings.failed(lease, failure)
    delay_us = clock.microseconds(decision.delay)
    detail = {"delay_us": delay_us, "error_class": failure.error_class, "message": failure.message, "seed": seed}
    if failure.retry_after:
        detail["retry_after"] = failure.retry_after
    if failure.server_retry_after:
        detail["server_retry_after"] = failure.server_retry_after
        if failure.server_retry_after > handler.retry.delay_ceiling:
            detail["delay_ceiling"] = handler.retry.delay_ceiling
    return endings.retried(lease, failure, delay_us, canonical.encode(detail))
