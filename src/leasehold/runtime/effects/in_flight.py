"""What an attempt has in flight: effects, which a second caller and the end wait for, and records.

A handler does not wait for the record of an effect with `ahead=True`: it is handed over, and waited for before
something depends on it. The committer writes what an attempt hands over in order, so a record is committed with the
attempt's next entry or before it. An act waits for both; so does the end of the attempt, since nothing can be recorded
after that.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from leasehold.batching import Promise, answer_all
from leasehold.model.effect import Entry
from leasehold.runtime.commit.requests import AsyncReply

Call = Callable[[], object]


@dataclass(slots=True)
class InFlightEffect:
    """One effect in flight, and what to call at its end."""

    lock: threading.Lock
    is_transaction: bool
    is_over: bool = False
    calls: list[Call] = field(default_factory=list)

    def wait(self) -> None:
        over = threading.Event()
        self._at_end(over.set)
        over.wait()

    async def wait_async(self) -> None:
        over: Promise[None] = Promise(loop=asyncio.get_running_loop())
        self._at_end(lambda: answer_all([(over, None)]))
        await over

    def _at_end(self, call: Call) -> None:
        with self.lock:
            if not self.is_over:
                self.calls.append(call)
                return
        call()


class InFlightEffects:
    """The effects in flight, by key."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_key: dict[str, InFlightEffect] = {}
        self._transactions = 0
        self._at_no_transaction: list[Call] = []

    def begin(self, key: str, *, is_transaction: bool = False) -> InFlightEffect | None:
        with self._lock:
            other = self._by_key.get(key)
            if other is None:
                self._by_key[key] = InFlightEffect(self._lock, is_transaction)
                self._transactions += is_transaction
            return other

    def end(self, key: str) -> None:
        with self._lock:
            effect = self._by_key.pop(key)
            effect.is_over = True
            calls = effect.calls
            self._transactions -= effect.is_transaction
            if self._at_no_transaction and not self._transactions:
                calls = [*calls, *self._at_no_transaction]
                self._at_no_transaction = []
        for call in calls:
            call()

    def when_no_transaction(self, call: Call) -> None:
        """Call once no transaction is open: at once, or at the end of the last one."""
        with self._lock:
            if self._transactions:
                self._at_no_transaction.append(call)
                return
        call()


Pending = AsyncReply | Callable[[], Entry]


class PendingRecords:
    """The pending records of one attempt. An error of one is raised by every wait for it.

    `loop` is the loop of an async handler, whose records are awaited; those of a sync handler block its thread.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._records: list[Pending] = []
        self._loop = loop

    def __bool__(self) -> bool:
        return bool(self._records)

    def add(self, record: Pending) -> bool:
        """Add a record; False for one of another loop, which must be awaited there while that runs."""
        if isinstance(record, AsyncReply) and record.loop is not self._loop:
            return False
        self._records.append(record)
        return True

    async def wait(self) -> asyncio.CancelledError | None:
        """Wait until all records are committed; return the cancel that came meanwhile."""
        cancel: asyncio.CancelledError | None = None
        for record in tuple(self._records):
            _, late = await answer_of(record)
            cancel = cancel or late
            with suppress(ValueError):  # another thread or task of the handler was faster
                self._records.remove(record)
        return cancel

    async def drain(self) -> None:
        """Wait until no record is in flight, whatever came of it."""
        for record in tuple(self._records):
            with suppress(Exception):
                await answer_of(record)


async def answer_of(asked: Pending) -> tuple[Entry, asyncio.CancelledError | None]:
    """Wait for an answer, which no cancel ends, and return it with the cancel that came meanwhile."""
    if not isinstance(asked, AsyncReply):
        return asked(), None
    try:
        return await asked, None
    except asyncio.CancelledError as error:
        if not asked.is_answered:
            raise
        return asked.result(), error
