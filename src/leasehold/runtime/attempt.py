"""One attempt, from start to settlement: the file to read.

    begin    unless the attempt was released or lost, or its time ran out, before it started
    call     the user's function, with the payload's fields as arguments; a cancel or its time-out interrupts it
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
from leasehold.errors import Cancelled, Released
from leasehold.model.lease import Lease, Settlement
from leasehold.runtime import ending
from leasehold.runtime.handlers import Handler
from leasehold.runtime.hooks import surround
from leasehold.runtime.limits import STOP_GRACE_SECONDS
from leasehold.runtime.task import EngineChannel, Task

_lock: Final = threading.Lock()


class State(Enum):
    """How far an attempt has come in this process."""

    CLAIMED = auto()
    RUNNING = auto()
    ENDED = auto()
    RELEASED = auto()
    LOST = auto()


class Interruption(Enum):
    """Why an attempt shall stop."""

    CANCELLED = auto()
    TIMED_OUT = auto()


class Executor(Protocol):
    """Where attempts run: the event loop and the threads of a worker, or an isolated process."""

    def call(self, attempt: Attempt) -> Any:
        """Call the handler; or return the `Settlement` that an isolated process decided on, or None to release it."""

    def settle(self, attempt: Attempt, end: Settlement | None) -> None:
        """Hand over the end; None: release the task, no attempt is spent."""

    def skip(self, attempt: Attempt) -> None:
        """Drop an attempt that was released or lost, or whose time ran out, before it started."""


class Attempt:
    """A held lease and what this process does with it. `deadline` and `limit_at` are in uptime microseconds.

    At `limit_at` a running attempt is over its time; one that was interrupted has not stopped in time.
    """

    __slots__ = (
        "deadline", "handler", "interruption", "is_abandoned", "isolated", "lease", "limit_at", "places", "renew_at",
        "state", "stop", "task",
    )  # fmt: skip

    def __init__(self, lease: Lease, handler: Handler, asked_at: int) -> None:
        self.lease = lease
        self.handler = handler
        self.state = State.CLAIMED
        self.places = 1  # that it occupies in its worker
        self.isolated = handler.isolated
        self.is_abandoned = False
        self.interruption: Interruption | None = None
        self.limit_at: int | None = None
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
        # A process that was stopped may be here before its heartbeat has noticed how late it is.
        if clock.uptime() >= self.deadline or not self.begin():
            executor.skip(self)
            return
        try:
            result = executor.call(self) if self.interruption is None else self._refuse()
            if self.isolated:
                end: Settlement | None = None if result is None else self.succeed(result)
            else:
                result = await result if self.handler.is_async else result
                end = self.succeed(result) if self.task is None else await self.conclude(result)
        except BaseException as error:  # noqa: BLE001 — whatever a handler raises is its failure, not ours
            if self.task is not None:
                await self.task.effects.abandon()
            # Released because the worker is being stopped; otherwise `Released` is a failure.
            is_given_back = isinstance(error, Released) and self.task is not None and self.task.stopping
            end = None if is_given_back else self.fail(error)
        if self.task is None:
            executor.settle(self, end)
        else:
            self.when_no_transaction(partial(executor.settle, self, end))

    def _refuse(self) -> Any:
        raise Cancelled  # while it waited for its turn

    def when_no_transaction(self, call: Callable[[], None]) -> None:
        """Call once no transaction of the handler is open."""
        if self.task is None:
            call()
        else:
            self.task.effects.when_no_transaction(call)

    async def conclude(self, result: object) -> Settlement:
        """Wait for what a handler that returned did not wait for, and decide the end."""
        if self.task is not None:
            await self.task.effects.finish()
            await self.task.pending.finish()
        return self.succeed(result)

    def begin(self) -> bool:
        """Start, unless the attempt was released or lost before. Its time-out counts from here, or see `parent.py`."""
        if self.handler.timeout is not None:
            self.limit_at = clock.uptime() + clock.microseconds(self.handler.timeout)
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

    def interrupt(self, why: Interruption) -> bool:
        """Have the handler stop; False if it has ended, or was interrupted before.

        An async handler is cancelled, a thread meets `Cancelled` at its next act; `parent.py` ends an isolated process.
        """
        with _lock:
            if self.interruption is not None or self.state not in (State.CLAIMED, State.RUNNING):
                return False
            self.interruption = why
            self.limit_at = clock.uptime() + clock.microseconds(STOP_GRACE_SECONDS)
            stop = self.stop if self.state is State.RUNNING and not self.isolated else None
        if stop is not None:
            stop()
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
        if not handler.wants_task and not handler.arounds:
            return handler.function(**fields)
        self.task = Task(self.lease, channel(self), handler)
        return surround(handler, self.task, fields) if handler.arounds else handler.function(self.task, **fields)

    def succeed(self, result: object) -> Settlement:
        """Decide on a result: it ends the task, unless it came too late or cannot be stored."""
        if self.interruption is Interruption.TIMED_OUT:
            return ending.timed_out(self.lease, self.handler, None)
        return result if isinstance(result, Settlement) else ending.succeeded(self.lease, self.task, result)

    def fail(self, error: BaseException) -> Settlement:
        """Decide on a failure: try again, or end the task."""
        if self.interruption is Interruption.TIMED_OUT:
            return ending.timed_out(self.lease, self.handler, error)
        return ending.failed(self.lease, self.handler, error)
