"""Which effects of an attempt are under way: who asks for the same one waits, and its end waits for transactions."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

Call = Callable[[], object]


class InFlightEffect:
    """One effect under way, and whom its end is told: threads, and coroutines without a thread of their own."""

    __slots__ = ("_lock", "_told", "is_over", "is_transaction")

    def __init__(self, lock: threading.Lock, *, is_transaction: bool) -> None:
        self.is_transaction = is_transaction
        self.is_over = False
        self._lock = lock
        self._told: list[Call] = []

    def wait(self) -> None:
        """Wait for its end on this thread."""
        over = threading.Event()
        self._tell(over.set)
        over.wait()

    async def wait_async(self) -> None:
        """Await its end."""
        loop = asyncio.get_running_loop()
        over: asyncio.Future[None] = loop.create_future()
        self._tell(lambda: _resolve(loop, over))
        await over

    def _tell(self, call: Call) -> None:
        with self._lock:
            if not self.is_over:
                self._told.append(call)
                return
        call()

    def end(self) -> list[Call]:
        """End it, under the lock; return whom to tell, outside of it."""
        self.is_over = True
        return self._told


class InFlightEffects:
    """The effects under way, by key."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way: dict[str, InFlightEffect] = {}
        self._transactions = 0
        self._when_quiet: list[Call] = []

    def begin(self, key: str, *, is_transaction: bool = False) -> InFlightEffect | None:
        """Start an effect; or return the turn of the same one that is under way."""
        with self._lock:
            other = self._under_way.get(key)
            if other is None:
                self._under_way[key] = InFlightEffect(self._lock, is_transaction=is_transaction)
                self._transactions += is_transaction
            return other

    def end(self, key: str) -> None:
        """End an effect that was begun."""
        with self._lock:
            turn = self._under_way.pop(key)
            calls = turn.end()
            self._transactions -= turn.is_transaction
            if self._when_quiet and not self._transactions:
                calls = [*calls, *self._when_quiet]
                self._when_quiet = []
        for call in calls:
            call()

    def when_no_transaction(self, call: Call) -> None:
        """Call once no transaction is open: at once, or by whoever ends the last one."""
        with self._lock:
            if self._transactions:
                self._when_quiet.append(call)
                return
        call()


def _resolve(loop: asyncio.AbstractEventLoop, over: asyncio.Future[None]) -> None:
    try:
        loop.call_soon_threadsafe(_set, over)
    except RuntimeError:  # the loop is closed: nobody waits any more
        return


def _set(over: asyncio.Future[None]) -> None:
    if not over.done():
        over.set_result(None)
