"""The effects of one attempt: intent committed, act run with no transaction open, result committed.

    found in the ledger      then
    nothing, or a failure    act
    a result                 return it; nothing is done
    an intent, no result     look it up; or act again if that is safe; or stop: a person must resolve it

The steps are written once, as a generator; a sync and an async driver run it.
"""

import asyncio
import inspect
import threading
from collections.abc import Callable, Generator
from contextvars import ContextVar
from functools import cached_property
from typing import Any, Final, Literal, Protocol

from msgspec import Struct, to_builtins

from leasehold import canonical
from leasehold.errors import (
    EffectBusy,
    EffectInDoubt,
    EffectTooLarge,
    InDoubt,
    LeaseLost,
    Misuse,
    OptionInvalid,
    PayloadTooLarge,
)
from leasehold.model import effect
from leasehold.model.effect import Entry, Intent, LedgerAnswer, Record
from leasehold.model.failure.failure import Failure, classify
from leasehold.model.failure.named import lineage_of
from leasehold.model.lease import Lease
from leasehold.model.limits import EFFECTS_MAX
from leasehold.model.names import check_effect
from leasehold.runtime.commit.replies import AsyncReply, Item
from leasehold.runtime.effects.crash_points import Point, has_watchers, reach
from leasehold.runtime.effects.in_flight import InFlightEffect, InFlightEffects
from leasehold.runtime.effects.pending_records import PendingRecords, await_uncancelled

Act = Callable[..., Any]

# What the running code is inside of: keys of effects in flight, and a mark for a transaction.
_inside: Final[ContextVar[frozenset[str]]] = ContextVar("leasehold_inside", default=frozenset())
TRANSACTION: Final = "transaction"
NOT_BEGUN: Final = Failure(
    "CUT_OFF", "the handler was cancelled before the act began; nothing was done", retryable=True
)


class CancelledBeforeAct(asyncio.CancelledError):
    """A cancel that came before an act began: nothing was done."""


class Ledger(Protocol):
    """How an attempt reaches the ledger; see `CommitChannel`."""

    def hand_over(self, item: Item) -> Callable[[], Entry]:
        """Have an entry or a move committed; what is returned waits for the answer."""

    def enter_async(self, item: Item) -> AsyncReply:
        """Commit an entry or a move and await the answer."""

    def transact(self, intent: Intent, act: Callable[[object], Record]) -> Entry:
        """Run `act` on a connection of the ledger's database; its rows and its record commit together."""


class Enter(Struct, frozen=True):
    """A step: commit this; `ahead`: without waiting for it."""

    item: Intent | Record
    ahead: bool = False


class WaitForRecords(Struct, frozen=True):
    """A step: wait for the records that are pending."""


class Call(Struct, frozen=True):
    """A step: call this function of the user's."""

    function: Act
    key: str

    def run(self) -> Any:
        """Call it, with the key if it asks for one."""
        how = takes_key(self.function)
        if how is None:
            return self.function()
        return self.function(self.key) if how == "by place" else self.function(key=self.key)


Steps = Generator[Enter | WaitForRecords | Call, Any, Any]


class TaskEffects:
    """What one attempt does to the outside world, in order."""

    def __init__(
        self,
        lease: Lease,
        ledger: Ledger,
        numbered: int = 0,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        """`numbered`: effects that got a number before. `loop`: the event loop of an async handler."""
        self._lease = lease
        self._ledger = ledger
        self._lock = threading.Lock()
        self._in_flight = InFlightEffects()
        self._open: dict[str, Intent] = {}
        self._number = numbered
        self._used: dict[str, tuple[int, str]] = {}
        self._pending = PendingRecords(loop)

    @cached_property
    def _identity(self) -> str:
        lease = self._lease
        return effect.identity_of(lease.kind, lease.key, lease.stage, lease.segment)

    async def finish(self) -> None:
        """Wait until every record is committed; raise what was refused. Suspends for an async handler alone."""
        self._pending.wait()
        if (cancel := await self._pending.wait_async()) is not None:
            raise cancel

    async def abandon(self) -> None:
        """Wait until no record is in flight, whatever came of it: the handler has failed."""
        await self._pending.drain()

    def summary(self) -> dict[str, Any] | EffectInDoubt | None:
        """Return which effects this attempt got results of, in the order it asked for them; None without any.

        Or the doubt about an effect that it intended, or found intended, and whose end it does not know.
        """
        if self._open:
            return _doubt(next(iter(self._open.values())))
        if not self._used:
            return None
        in_order = sorted(self._used.items(), key=lambda used: used[1])
        listed: dict[str, Any] = to_builtins(effect.used((key, digest) for key, (_, digest) in in_order))
        return listed

    def intend(self, kind: str, fields: dict[str, Any]) -> Intent:
        check_effect(kind)
        if TRANSACTION in _inside.get():
            raise Misuse(
                "Inside the act of task.transaction there is one open transaction: end it before other effects."
            )
        with self._lock:
            self._number += 1
            number = self._number
        if number > EFFECTS_MAX:
            raise OptionInvalid(f"A task has at most {EFFECTS_MAX:,} effects; split it into segments.")
        return effect.intend(self._lease, kind, fields, number, self._identity)

    def check_outside(self, verb: str) -> None:
        """Refuse this inside an act: where the result is found on record the act does not run again."""
        if _inside.get():
            raise Misuse(f"Inside an act of an effect a task cannot {verb}; do that after it, from its result.")

    def when_no_transaction(self, call: Callable[[], None]) -> None:
        """Call once no transaction of this attempt is open: one that the handler left behind still holds the lease."""
        self._in_flight.when_no_transaction(call)

    def run(self, intent: Intent, act: Act, lookup: Act | None, *, idempotent: bool, ahead: bool = False) -> Any:
        """Do an effect from a sync handler; the same effect in flight is waited for."""
        if inspect.iscoroutinefunction(act) or inspect.iscoroutinefunction(lookup):
            raise Misuse("A sync handler cannot await its act or lookup; make the handler `async def`.")
        while (other := self._begin(intent)) is not None:
            other.wait()
        token = _inside.set(_inside.get() | {intent.key})
        try:
            return self._drive(self._steps(intent, act, lookup, idempotent=idempotent, ahead=ahead))
        finally:
            _inside.reset(token)
            self._in_flight.end(intent.key)

    async def run_async(
        self, intent: Intent, act: Act, lookup: Act | None, *, idempotent: bool, ahead: bool = False
    ) -> Any:
        """Do an effect from an async handler; `act` and `lookup` may be async."""
        while (other := self._begin(intent)) is not None:
            await other.wait_async()
        token = _inside.set(_inside.get() | {intent.key})
        try:
            return await self._drive_async(self._steps(intent, act, lookup, idempotent=idempotent, ahead=ahead))
        finally:
            _inside.reset(token)
            self._in_flight.end(intent.key)

    def transact(self, intent: Intent, act: Act) -> Any:
        """Run `act` on a connection of the ledger's database: its rows and its result in one commit."""
        self._pending.wait()
        while (other := self._begin(intent, is_transaction=True)) is not None:
            other.wait()
        token = _inside.set(_inside.get() | {TRANSACTION})
        try:
            reach(Point.BEFORE_INTENT, intent)
            entry = self._ledger.transact(intent, lambda lent: effect.done(intent, canonical.encode(act(lent))))
            reach(Point.AFTER_RESULT, intent)
            return self._use(intent, entry.result or "null")
        finally:
            _inside.reset(token)
            self._in_flight.end(intent.key)

    def _begin(self, intent: Intent, *, is_transaction: bool = False) -> InFlightEffect | None:
        if intent.key in _inside.get():
            raise EffectBusy(f"It is {intent.kind}, inside itself.")
        return self._in_flight.begin(intent.key, is_transaction=is_transaction)

    def _steps(self, intent: Intent, act: Act, lookup: Act | None, *, idempotent: bool, ahead: bool) -> Steps:
        reach(Point.BEFORE_INTENT, intent)
        entry = yield Enter(intent)
        if entry.verdict == LedgerAnswer.DONE:
            return self._use(intent, entry.result)
        # Asked again by the attempt that intended it: the ledger takes it for a repeated COMMIT, but it may be done.
        doubtful = entry.verdict == LedgerAnswer.DOUBT or intent.key in self._open
        if self._pending:
            yield from self._wait_for_records(intent, doubtful=doubtful)
        self._open[intent.key] = intent
        # crash here: intended but not done
        # The next attempt finds the intent and cannot know that nothing happened: it looks it up, or a person must.
        reach(Point.AFTER_INTENT, intent)
        value = (yield from self._find(intent, lookup, idempotent=idempotent)) if doubtful else None
        if value is None:
            value = yield from self._act(intent, act)
        # crash here: done but not recorded
        # The same: an intent without a result.
        reach(Point.AFTER_ACT, intent)
        text = _text(value)
        yield Enter(effect.done(intent, text), ahead and not has_watchers())
        # crash here: recorded but not returned
        # The next attempt gets the result from the ledger.
        reach(Point.AFTER_RESULT, intent)
        return self._use(intent, text)

    def _wait_for_records(self, intent: Intent, *, doubtful: bool) -> Steps:
        """Wait for the records before an act: nothing is done that relies on a record that was refused."""
        try:
            yield WaitForRecords()
        except LeaseLost:
            raise
        except BaseException:
            if not doubtful:
                yield Enter(effect.failed(intent, NOT_BEGUN.text()))
            raise

    def _find(self, intent: Intent, lookup: Act | None, *, idempotent: bool) -> Steps:
        """Find out what came of an intent without a result; None: it may be done (again)."""
        if lookup is not None:
            return (yield Call(lookup, intent.key))
        if idempotent:
            return None
        raise _doubt(intent)

    def _act(self, intent: Intent, act: Act) -> Steps:
        try:
            return (yield Call(act, intent.key))
        except (InDoubt, LeaseLost):
            raise
        except CancelledBeforeAct:
            yield Enter(effect.failed(intent, NOT_BEGUN.text()))
            self._open.pop(intent.key)
            raise
        except Exception as error:
            yield Enter(effect.failed(intent, classify(error).text(lineage_of(error))))
            self._open.pop(intent.key)
            raise

    def _use(self, intent: Intent, text: str) -> Any:
        self._open.pop(intent.key, None)
        self._used.setdefault(intent.key, (intent.number, effect.sha256(text)))
        return canonical.decode(text)

    def _drive(self, steps: Steps) -> Any:
        answer: Any = None
        trouble: BaseException | None = None
        while True:
            try:
                step = steps.send(answer) if trouble is None else steps.throw(trouble)
            except StopIteration as end:
                return end.value
            answer, trouble = None, None
            try:
                answer = self._do(step)
            except BaseException as error:  # noqa: BLE001 — the steps decide what it means
                trouble = error

    def _do(self, step: Enter | WaitForRecords | Call) -> Any:
        match step:
            case Enter(item, ahead=True):
                return self._pending.add(self._ledger.hand_over(item))
            case Enter(item):
                return self._ledger.hand_over(item)()
            case WaitForRecords():
                return self._pending.wait()
            case Call():
                return step.run()

    async def _do_async(self, step: Enter | WaitForRecords) -> tuple[Entry | None, asyncio.CancelledError | None]:
        """Do a step that no cancel ends; return its answer and the cancel that came meanwhile."""
        if isinstance(step, WaitForRecords):
            return None, await self._pending.wait_async()
        asked = self._ledger.enter_async(step.item)
        if step.ahead and self._pending.add_async(asked):
            return None, None
        return await await_uncancelled(asked)

    async def _drive_async(self, steps: Steps) -> Any:
        """Run the steps. A cancel that comes while something is committed waits for the answer, then stops the act."""
        answer: Any = None
        trouble: BaseException | None = None
        cancel: asyncio.CancelledError | None = None
        while True:
            try:
                step = steps.send(answer) if trouble is None else steps.throw(trouble)
            except StopIteration as end:
                if cancel is not None:
                    raise cancel from None
                return end.value
            except CancelledBeforeAct:  # what the handler's own time-out or group knows is the cancel itself
                raise cancel or CancelledBeforeAct from None
            answer, trouble = None, None
            try:
                if isinstance(step, Call):
                    answer = await _called(step, cancel)
                else:
                    answer, late = await self._do_async(step)
                    cancel = cancel or late
            except BaseException as error:  # noqa: BLE001 — the steps decide what it means
                trouble = error


def _doubt(intent: Intent) -> EffectInDoubt:
    return EffectInDoubt(f"It is {intent.kind}, key {intent.key}, fields {intent.fields[:200]}.")


async def _called(step: Call, cancel: asyncio.CancelledError | None) -> Any:
    if cancel is not None:
        raise CancelledBeforeAct from cancel
    answer = step.run()
    return await answer if inspect.isawaitable(answer) else answer


def _text(value: object) -> str:
    """Return a result as it is kept. One that cannot be kept leaves the effect in doubt: it was done."""
    try:
        return canonical.encode(value)
    except PayloadTooLarge as error:
        raise EffectTooLarge(error.detail, result=value) from None


def takes_key(function: Act) -> Literal["by place", "by name"] | None:
    """Return how a function takes the effect's key: it has a parameter that needs a value, or one named `key`."""
    code = getattr(function, "__code__", None)
    if code is not None and code.co_argcount == 0 and code.co_kwonlyargcount == 0:
        return None
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if any(p.kind in positional and (p.default is p.empty or p.name == "key") for p in parameters.values()):
        return "by place"
    return "by name" if "key" in parameters else None
