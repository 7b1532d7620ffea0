"""One attempt, start to settle: the file to read.

    begin   unless it was released or lost before it started
    call    the user's function, with the payload's fields as arguments
    judge   what came of it: a result, a failure to retry or to end with, a cancel
    settle  hand the end to the committer; it lands only while the lease stands
    answer  learn whether it landed

The lease is held from the claim until the answer. Whoever loses it stops and touches nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import Enum, auto
from typing import Any, Final

from leasehold import canonical, clock
from leasehold.errors import Cancelled, PayloadInvalid
from leasehold.model import lease as endings
from leasehold.model.delivery import OutgoingMessage, trace_of
from leasehold.model.failure.failure import Failure, classify
from leasehold.model.lease import Lease, Settlement
from leasehold.model.retry import Bury, decide, seed_of, spread_of
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
        self.deadline = 0
        self.renew_at = 0
        self.extend(asked_at)

    def extend(self, asked_at: int) -> None:
        """Count the lease from the moment it was asked for, which is before the database granted it."""
        span = self.lease.lease_ms * clock.MILLISECOND
        self.deadline = asked_at + span - min(span // 10, clock.SECOND)
        self.renew_at = asked_at + span // 3

    def begin(self) -> bool:
        """Start, unless the attempt was released or lost before."""
        with _lock:
            if self.state is not State.CLAIMED:
                return False
            self.state = State.RUNNING
            return True

    def release(self) -> bool:
        """Give the attempt up unstarted."""
        with _lock:
            if self.state is not State.CLAIMED:
                return False
            self.state = State.RELEASED
            return True

    def end(self) -> bool:
        """Stop being renewed: the end is on its way. False if the lease was lost meanwhile."""
        with _lock:
            if self.state is not State.RUNNING:
                return False
            self.state = State.ENDED
            return True

    def lose(self) -> bool:
        """Note that the lease no longer stands, and have the handler stop where it can be stopped."""
        with _lock:
            if self.state in (State.LOST, State.RELEASED):
                return False
            running = self.state is State.RUNNING
            self.state = State.LOST
        if running and self.stop is not None:
            self.stop()
        return True

    def give_up_slot(self) -> bool:
        """Give up the place this attempt occupies; False if that was done before."""
        occupied, self.occupies = self.occupies, False
        return occupied

    def call(self, channel: Callable[[Attempt], EngineChannel]) -> Any:
        """Call the user's function; `channel` gives its task a way to speak to the engine."""
        handler = self.handler
        fields = handler.arguments(canonical.decode(self.lease.payload))
        if handler.wants_task:
            self.task = Task(self.lease, channel(self), handler)
            return handler.function(self.task, **fields)
        return handler.function(**fields)

    def work(
        self, channel: Callable[[Attempt], EngineChannel], on_return: Callable[[object], object] = lambda _: None
    ) -> Settlement:
        """Call it on this thread, and wait for what it went ahead of: nothing is recorded after the end."""
        try:
            result = self.call(channel)
            on_return(result)
            if self.task is not None:
                self.task.effects.ahead.settle()
        except BaseException:
            if self.task is not None:
                self.task.effects.ahead.rest()
            raise
        return self.succeed(result)

    def succeed(
        self, result: object, trace: dict[str, Any] | None = None, posts: list[OutgoingMessage] | None = None
    ) -> Settlement:
        """Judge a result: it ends the task, unless it cannot be kept."""
        if self.task is not None:
            if self.task.effects.doubt is not None:  # whatever the handler made of it, a person must tell
                return endings.failed(self.lease, classify(self.task.effects.doubt))
            trace, posts = self.task.effects.trace, self.task.posts.all()
        told = {**(trace or {}), **trace_of(posts)}
        detail = canonical.encode(told) if told else None
        if result is None:
            return endings.done(self.lease, "null", detail, posts)
        try:
            return endings.done(self.lease, canonical.encode(result), detail, posts)
        except PayloadInvalid as error:
            return endings.failed(self.lease, classify(error))

    def fail(self, error: BaseException) -> Settlement:
        """Judge a failure: try again, or end the task."""
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
    decision = decide(failure, lease.attempt, lease.attempts_max, handler.retry, spread_of(seed))
    if isinstance(decision, Bury):
        return endings.failed(lease, failure)
    delay_us = clock.microseconds(decision.delay)
    detail = {"delay_us": delay_us, "error_class": failure.error_class, "message": failure.message, "seed": seed}
    if failure.retry_after:
        detail["retry_after"] = failure.retry_after
    return endings.retried(lease, failure, delay_us, canonical.encode(detail))
