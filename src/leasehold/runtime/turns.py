"""Which effects of an attempt are under way: who asks for the same one waits, and its end waits for transactions."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable


class Turn:
    """One effect under way, and who waits for its end: threads, and coroutines without a thread of their own."""

    def __init__(self, *, is_transaction: bool) -> None:
        self.is_transaction = is_transaction
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []

    def wait(self) -> None:
        """Wait for its end on this thread."""
        self._over.wait()

    async def wait_async(self) -> None:
        """Await its end."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        with self._lock:
            if self._over.is_set():
                return
            self._waiting.append((loop, future))
        await future

    def end(self) -> None:
        """Tell everybody that it has ended."""
        with self._lock:
            self._over.set()
            waiting, self._waiting = self._waiting, []
        for loop, future in waiting:
            try:
                loop.call_soon_threadsafe(_resolve, future)
            except RuntimeError:  # the loop is closed: nobody waits any more
                continue


class Turns:
    """The effects under way, by key."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way: dict[str, Turn] = {}
        self._when_quiet: list[Callable[[], None]] = []

    def begin(self, key: str, *, is_transaction: bool = False) -> Turn | None:
        """Start an effect; or return the turn of the same one that is under way."""
        with self._lock:
            other = self._under_way.get(key)
            if other is None:
                self._under_way[key] = Turn(is_transaction=is_transaction)
            return other

    def end(self, key: str) -> None:
        """End an effect that was begun."""
        with self._lock:
            turn = self._under_way.pop(key)
            calls: list[Callable[[], None]] = []
            if not self._has_transaction():
                calls, self._when_quiet = self._when_quiet, calls
        turn.end()
        for call in calls:
            call()

    def when_quiet(self, call: Callable[[], None]) -> None:
        """Call once no transaction is open: at once, or by whoever ends the last one."""
        with self._lock:
            if self._has_transaction():
                self._when_quiet.append(call)
                return
        call()

    def _has_transaction(self) -> bool:
        return any(turn.is_transaction for turn in self._under_way.values())


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
