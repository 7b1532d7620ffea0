"""The effects of one attempt: intent committed, act run with no transaction open, result committed.

    found in the ledger      then
    nothing, or a failure    act
    a result                 return it; nothing is done
    an intent, no result     look it up; or act again if that is safe; or stop: a person must resolve it

The steps are written once: they suspend for an async handler alone, and `run_blocking` runs those of a sync one.
"""

import asyncio
import inspect
import threading
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, partial
from typing import Any, Final

from msgspec import to_builtins

from leasehold import canonical
from leasehold.errors import (
    Cancelled,
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
from leasehold.runtime.commit.requests import CommitChannel, run_blocking
from leasehold.runtime.effects.in_flight import InFlightEffect, InFlightEffects, Pending, PendingRecords, answer_of

Act = Callable[..., Any]

# What the running code is inside of: keys of effects in flight, and a mark for a transaction.
_inside: Final[ContextVar[frozenset[str]]] = ContextVar("leasehold_inside", default=frozenset())
TRANSACTION: Final = "transaction"
NOT_BEGUN: Final = Failure(
    "CUT_OFF", "the handler was cancelled before the act began; nothing was done", retryable=True
)


class Point(StrEnum):
    """How far an effect has come: where a test may crash its attempt. Without such a test they cost one comparison."""

    BEFORE_INTENT = "before_intent"
    AFTER_INTENT = "after_intent"
    AFTER_ACT = "after_act"
    AFTER_RESULT = "after_result"


Watcher = Callable[[Point, Intent], None]
_watchers: list[Watcher] = []


def reach(point: Point, intent: Intent) -> None:
    """Call every watcher: an effect has reached this point."""
    if _watchers:
        for watcher in tuple(_watchers):
            watcher(point, intent)


def watch(watcher: Watcher) -> Callable[[], None]:
    """Watch the effects of this process; the answer ends it."""
    _watchers.append(watcher)
    return lambda: _watchers.remove(watcher)


class CancelledBeforeAct(asyncio.CancelledError):
    """A cancel that came before an act began: nothing was done."""


@dataclass(slots=True)
class _Run:
    """One effect under way. A cancel that comes while something is committed is kept, and stops the act."""

    intent: Intent
    cancel: asyncio.CancelledError | Cancelled | None = None


class TaskEffects:
    """What one attempt does to the outside world, in order."""

    def __init__(
        self,
        lease: Lease,
        ledger: CommitChannel,
        numbered: int = 0,
        loop: asyncio.AbstractEventLoop | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """`numbered`: effects that got a number before. `loop`: of an async handler. `check` raises to stop it."""
        self._lease = lease
        self._ledger = ledger
        self._lock = threading.Lock()
        self._in_flight = InFlightEffects()
        self._open: dict[str, Intent] = {}
        self._number = numbered
        self._used: dict[str, tuple[int, str]] = {}
        self._pending = PendingRecords(loop)
        self._is_async = loop is not None
        self._check = check

    @cached_property
    def _identity(self) -> str:
        return effect.identity_of_lease(self._lease)

    async def finish(self) -> None:
        """Wait until every record is committed; raise what was refused. Suspends for an async handler alone."""
        if (cancel := await self._pending.wait()) is not None:
            raise cancel

    async def abandon(self) -> None:
        """Wait until no record is in flight, whatever came of it: the handler has failed."""
        await self._pending.drain()

    def when_no_transaction(self, call: Callable[[], None]) -> None:
        """Call once no transaction of this attempt is open: one that the handler left behind still holds the lease."""
        self._in_flight.when_no_transaction(call)

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

    async def run(self, intent: Intent, act: Act, lookup: Act | None, *, idempotent: bool, ahead: bool = False) -> Any:
        """Do an effect; the same effect in flight is waited for. An async handler's `act` and `lookup` may be async."""
        if not self._is_async and (inspect.iscoroutinefunction(act) or inspect.iscoroutinefunction(lookup)):
            raise Misuse("A sync handler cannot await its act or lookup; make the handler `async def`.")
        while (other := self._begin(intent)) is not None:
            await other.wait_async() if self._is_async else other.wait()
        run = _Run(intent)
        token = _inside.set(_inside.get() | {intent.key})
        try:
            value = await self._steps(run, act, lookup, idempotent=idempotent, ahead=ahead)
        except CancelledBeforeAct:  # what the handler's own time-out or group knows is the cancel itself
            raise run.cancel or CancelledBeforeAct from None
        finally:
            _inside.reset(token)
            self._in_flight.end(intent.key)
        if run.cancel is not None:
            raise run.cancel
        return value

    def transact(self, intent: Intent, act: Act) -> Any:
        """Run `act` on a connection of the ledger's database: its rows and its result in one commit."""
        if not self._is_async:  # an async handler has awaited them
            run_blocking(self._pending.wait())
        while (other := self._begin(intent, is_transaction=True)) is not None:
            other.wait()
        token = _inside.set(_inside.get() | {TRANSACTION})
        try:
            self._check()
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

    async def _steps(self, run: _Run, act: Act, lookup: Act | None, *, idempotent: bool, ahead: bool) -> Any:
        intent = run.intent
        reach(Point.BEFORE_INTENT, intent)
        entry = await self._answer(run, self._commit(intent))
        if entry.verdict == LedgerAnswer.DONE:
            return self._use(intent, entry.result or "null")
        # Asked again by the attempt that intended it: the ledger takes it for a repeated COMMIT, but it may be done.
        doubtful = entry.verdict == LedgerAnswer.DOUBT or intent.key in self._open
        if self._pending:
            await self._wait_for_records(run, doubtful=doubtful)
        self._open[intent.key] = intent
        # crash here: intended but not done
        # The next attempt finds the intent and cannot know that nothing happened: it looks it up, or a person must.
        reach(Point.AFTER_INTENT, intent)
        value = await self._find(run, lookup, idempotent=idempotent) if doubtful else None
        if value is None:
            value = await self._act(run, act)
        # crash here: done but not recorded
        # The same: an intent without a result.
        reach(Point.AFTER_ACT, intent)
        text = _text(value)
        asked = self._commit(effect.done(intent, text))
        # With watchers each record is waited for, so that every crash is at a place with a name.
        if not (ahead and not _watchers and self._pending.add(asked)):
            await self._answer(run, asked)
        # crash here: recorded but not returned
        # The next attempt gets the result from the ledger.
        reach(Point.AFTER_RESULT, intent)
        return self._use(intent, text)

    async def _wait_for_records(self, run: _Run, *, doubtful: bool) -> None:
        """Wait for the records before an act: nothing is done that relies on a record that was refused."""
        try:
            late = await self._pending.wait()
        except LeaseLost:
            raise
        except BaseException:
            if not doubtful:
                await self._answer(run, self._commit(effect.failed(run.intent, NOT_BEGUN.text())))
            raise
        run.cancel = run.cancel or late

    async def _find(self, run: _Run, lookup: Act | None, *, idempotent: bool) -> Any:
        """Find out what came of an intent without a result; None: it may be done (again)."""
        if lookup is not None:
            return await self._call(run, lookup)
        if idempotent:
            return None
        raise _doubt(run.intent)

    async def _act(self, run: _Run, act: Act) -> Any:
        try:
            return await self._call(run, act)
        except (InDoubt, LeaseLost):
            raise
        except (CancelledBeforeAct, Exception) as error:
            failure = classify(error).text(lineage_of(error)) if isinstance(error, Exception) else NOT_BEGUN.text()
            await self._answer(run, self._commit(effect.failed(run.intent, failure)))
            self._open.pop(run.intent.key)
            raise

    async def _call(self, run: _Run, function: Act) -> Any:
        """Call a function of the user's, with the key if it asks for one."""
        try:
            self._check()
        except Cancelled as late:  # while the intent was being committed
            run.cancel = run.cancel or late
        if run.cancel is not None:
            raise CancelledBeforeAct from run.cancel
        answer = with_key(function, run.intent.key)()
        return await answer if self._is_async and inspect.isawaitable(answer) else answer

    def _commit(self, item: Intent | Record) -> Pending:
        return self._ledger.enter_async(item) if self._is_async else self._ledger.hand_over(item)

    async def _answer(self, run: _Run, asked: Pending) -> Entry:
        entry, late = await answer_of(asked)
        run.cancel = run.cancel or late
        return entry

    def _use(self, intent: Intent, text: str) -> Any:
        self._open.pop(intent.key, None)
        self._used.setdefault(intent.key, (intent.number, effect.sha256(text)))
        return canonical.decode(text)


def _doubt(intent: Intent) -> EffectInDoubt:
    return EffectInDoubt(f"It is {intent.kind}, key {intent.key}, fields {intent.fields[:200]}.")


def _text(value: object) -> str:
    """Return a result as it is kept. One that cannot be kept leaves the effect in doubt: it was done."""
    try:
        return canonical.encode(value)
    except PayloadTooLarge as error:
        raise EffectTooLarge(error.detail, result=value) from None


def with_key(function: Act, key: str) -> Act:
    """Pass the effect's key to a function that has a parameter which needs a value, or one named `key`."""
    code = getattr(function, "__code__", None)
    if code is not None and code.co_argcount == 0 and code.co_kwonlyargcount == 0:
        return function
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return function
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if any(p.kind in positional and (p.default is p.empty or p.name == "key") for p in parameters.values()):
        return partial(function, key)
    return partial(function, key=key) if "key" in parameters else function
