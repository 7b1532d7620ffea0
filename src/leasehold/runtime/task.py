"""The `task` argument of a handler: the attempt, its inputs, and the calls it may make to the engine."""

import asyncio
from datetime import datetime
from typing import Any, Final, Protocol

from leasehold import canonical, clock
from leasehold.errors import Cancelled, LeaseLost
from leasehold.model.delivery import OutgoingMessages, make_message
from leasehold.model.effect import Intent
from leasehold.model.lease import Lease
from leasehold.model.limits import PROGRESS_BYTES_MAX
from leasehold.model.names import clean
from leasehold.runtime.commit.requests import CommitChannel, run_blocking
from leasehold.runtime.effects.effects import Act, TaskEffects
from leasehold.runtime.effects.machine import States
from leasehold.runtime.handlers import Handler
from leasehold.runtime.observe.logs import Log, cleaned

STOPPED: Final = "the job was cancelled, or the attempt's time is over: nothing more is begun"


class EngineChannel(CommitChannel, Protocol):
    """How a running attempt reaches the engine: directly, or through a pipe from a child process."""

    def inputs(self) -> dict[str, Any]:
        """Read the outputs of the stages before."""

    def report_progress(self, progress: str) -> None:
        """Report progress (canonical JSON)."""

    @property
    def cancelled(self) -> bool:
        """Whether the task shall stop."""

    @property
    def interrupted(self) -> bool:
        """Whether nothing more may begin: it was cancelled, or its time is over. False under a manual lease."""

    @property
    def lost(self) -> bool:
        """Whether the lease no longer stands."""

    @property
    def stopping(self) -> bool:
        """Whether the worker is being stopped."""


class Task:
    """One attempt, as its handler sees it."""

    def __init__(self, lease: Lease, channel: EngineChannel, handler: Handler, *, effects: int = 0) -> None:
        """Make the task of a lease; `effects`: how many got a number before. Of an async handler: on its loop."""
        self.lease = lease
        self.attempt = lease.attempt  # which one this is, from 1
        self._channel = channel
        self._is_async = handler.is_async
        loop = asyncio.get_running_loop() if handler.is_async else None
        self.effects = TaskEffects(lease, channel, effects, loop, self._check)
        self.states = States(lease, handler.machine, channel)
        self._inputs: dict[str, Any] | None = None
        self.posts = OutgoingMessages()

    @property
    def payload(self) -> dict[str, Any]:
        found: dict[str, Any] = canonical.decode(self.lease.payload)
        return found

    @property
    def segment(self) -> Any:
        return None if self.lease.item is None else canonical.decode(self.lease.item)

    @property
    def inputs(self) -> dict[str, Any]:
        """The outputs of the stages this one came after, by stage; a list in segment order for one that fanned out."""
        if self._inputs is None:
            self._inputs = self._channel.inputs()
        return self._inputs

    @property
    def started_at(self) -> datetime:
        """When this attempt was claimed, by the database's clock (UTC); a replay has the recorded time."""
        found = clock.moment(self.lease.started_at)
        assert found is not None
        return found

    @property
    def cancelled(self) -> bool:
        """Whether the attempt shall stop: it was cancelled, its time is over, or its lease is lost.

        A plain function that runs long checks it from time to time: a thread cannot be stopped from outside.
        """
        return self._channel.cancelled or self._channel.lost

    def _check(self) -> None:
        """Raise unless something more may begin: `LeaseLost`, or `Cancelled` after a cancel or a time-out."""
        if self._channel.lost:
            raise LeaseLost
        if self._channel.interrupted:
            raise Cancelled(STOPPED)

    @property
    def stopping(self) -> bool:
        """Whether the worker is being stopped. A long handler may `raise Released` then: no attempt is spent.

        What it has recorded is found by the next attempt. False for an isolated handler.
        """
        return self._channel.stopping

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Report how far the attempt has come; the latest report counts."""
        self._check()
        fields: dict[str, Any] = {"done": cleaned(done)}
        if total is not None:
            fields["total"] = cleaned(total)
        if message:
            fields["message"] = clean(cleaned(message), 500)
        self._channel.report_progress(canonical.encode(fields, limit=PROGRESS_BYTES_MAX))

    def effect(
        self,
        kind: str,
        act: Act,
        *,
        lookup: Act | None = None,
        idempotent: bool = False,
        ahead: bool = False,
        **fields: Any,
    ) -> Any:
        """Do something to the outside world, recorded once under a key made of kind, task and fields.

        Found on record: the result is returned and `act` does not run. Found intended, without a result: `lookup()`
        returns the result (None: it did not happen), or `idempotent=True` declares that acting again is safe, else
        the task is buried for a person. `act` and `lookup` get the key if they take an argument.
        In an async handler: `await task.effect(…)`, and both may be async.

        `ahead=True` returns the result while it is being committed. No other act of this task begins before it is on
        record, nor does the task end; but what the handler does meanwhile without the engine may be lost with it.
        """
        intent = self.effects.intend(kind, fields)
        self._check()
        steps = self.effects.run(intent, act, lookup, idempotent=idempotent, ahead=ahead)
        return steps if self._is_async else run_blocking(steps)

    def transaction(self, kind: str, act: Act, **fields: Any) -> Any:
        """Run `act(connection)` in a transaction of the engine's own database: rows and result commit together.

        That makes it exactly-once without conditions. The connection is psycopg's or apsw's; `act` does not commit and
        is short: SQLite has one writer, so there it must end well before any lease does. One that the handler does not
        wait for is waited for before the task ends. In an async handler: `await task.transaction(…)`, on a thread.
        """
        intent = self.effects.intend(kind, fields)
        self._check()
        return self._transact_async(intent, act) if self._is_async else self.effects.transact(intent, act)

    async def _transact_async(self, intent: Intent, act: Act) -> Any:
        await self.effects.finish()
        return await asyncio.to_thread(self.effects.transact, intent, act)

    def advance(self, state: str, *, of: str = "") -> Any:
        """Move the job, or the part of it that `of` names, along an arrow of its machine; without one, `StateDenied`.

        A move that an earlier attempt of this task has made is not made again, so a handler may start from the top.
        In an async handler: `await task.advance(…)`; the call requests the move, and it may be awaited later, at
        the latest by the engine before the task ends.
        """
        self.effects.check_outside("advance")
        self._check()
        return self.states.advance_async(state, of) if self._is_async else self.states.advance(state, of)

    def deliver(
        self, subject: str, recipient: str, version: int, message: dict[str, Any], *, provider: str = "default"
    ) -> None:
        """Have a message sent once: written with the end of this task, if it is DONE, and sent by a relay after that.

        A recipient gets a subject's version once, whatever is delivered again; `provider` names who sends it, as
        registered with `app.deliveries.provider` in this process or another.
        """
        self.effects.check_outside("deliver")
        self.posts.add(make_message(subject, recipient, version, message, provider))

    @property
    def log(self) -> Any:
        """A logger that knows the task."""
        lease = self.lease
        return Log("leasehold.task", task=lease.task_id, route=lease.route, attempt=lease.attempt)
