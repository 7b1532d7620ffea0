"""The `task` argument of a handler: what it was given, and the calls it may make to the engine."""

import asyncio
from functools import cached_property
from typing import Any, Final, Protocol

from leasehold import canonical
from leasehold.errors import Cancelled, LeaseLost
from leasehold.model.delivery import OutgoingMessages, make_message
from leasehold.model.effect import Intent
from leasehold.model.lease import Lease
from leasehold.model.limits import PROGRESS_BYTES_MAX
from leasehold.model.names import clean
from leasehold.runtime.commit.requests import CommitChannel, run_blocking
from leasehold.runtime.effects.children import Children
from leasehold.runtime.effects.effects import Act, TaskEffects
from leasehold.runtime.effects.machine import States
from leasehold.runtime.effects.pending import PendingAnswers
from leasehold.runtime.effects.spending import Spending
from leasehold.runtime.handlers import Handler
from leasehold.runtime.leased_task import LeasedTask
from leasehold.runtime.observe.logs import cleaned

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


class Task(LeasedTask):
    """One attempt, as its handler sees it."""

    def __init__(self, lease: Lease, channel: EngineChannel, handler: Handler, *, effects: int = 0) -> None:
        """Make the task of a lease; `effects`: how many got a number before. Of an async handler: on its loop."""
        super().__init__(lease, channel.inputs)
        self._channel = channel
        self._is_async = handler.is_async
        loop = asyncio.get_running_loop() if handler.is_async else None
        self.effects = TaskEffects(lease, channel, effects, loop, self._check)
        self.pending = PendingAnswers(channel)
        self._machine = handler.machine
        self.posts = OutgoingMessages()

    @cached_property
    def _states(self) -> States:
        return States(self.lease, self._machine, self._channel, self.pending)

    @cached_property
    def _spending(self) -> Spending:
        return Spending(self.lease, self._channel, self.pending)

    @cached_property
    def _children(self) -> Children:
        return Children(self.lease, self._channel, self.pending)

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
        return (self._states.advance_async if self._is_async else self._states.advance)(state, of)

    def spend(self, name: str, amount: int, *, key: str | None = None) -> Any:
        """Debit the budget `name` of the job at the root of the tree, and return how much of it is left.

        What would pass the limit is a `BudgetExceeded`, and nothing is spent. A spend that an earlier attempt of this
        task has paid is not paid again: one with the same `key`, or without a key the same amount as often as before.
        In an async handler: `await task.spend(…)`; the call requests it, and it may be awaited later.
        """
        self.effects.check_outside("spend")
        self._check()
        return (self._spending.spend_async if self._is_async else self._spending.spend)(name, amount, key)

    def submit(self, kind: object, payload: object = None, *, key: str, priority: int = 0, delay: float = 0.0) -> Any:
        """Submit a job that is linked to this one: it spends from the same budgets and is cancelled with this one.

        It is made once under this `key`, however often the handler runs; with another payload or kind it is a
        `KeyConflict`. `kind` is a name, or what `@app.job` or `app.pipeline` made. Returns its `id`, `kind` and `key`.
        In an async handler: `await task.submit(…)`; the call requests it, and it may be awaited later.
        """
        self.effects.check_outside("submit")
        self._check()
        link = self._children.make(kind, payload, key, priority, delay)
        return (self._children.submit_async if self._is_async else self._children.submit)(link)

    def deliver(
        self, subject: str, recipient: str, version: int, message: dict[str, Any], *, provider: str = "default"
    ) -> None:
        """Have a message sent once: written with the end of this task, if it is DONE, and sent by a relay after that.

        A recipient gets a subject's version once, whatever is delivered again; `provider` names who sends it, as
        registered with `app.deliveries.provider` in this process or another.
        """
        self.effects.check_outside("deliver")
        self.posts.add(make_message(subject, recipient, version, message, provider))
