"""Threads for a handler that runs on a loop: many that wait for a network each, and one that syncs a disk for all.

None of them keeps a process from ending.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

I = TypeVar("I")  # noqa: E741 — what goes in
O = TypeVar("O")  # noqa: E741 — what comes out
Wish = tuple[Any, asyncio.AbstractEventLoop, "asyncio.Future[Any]"]


async def wait_uncancelled(*tasks: asyncio.Future[Any] | None) -> None:
    """Wait until all are over, whoever wants this to end meanwhile: that is passed on afterwards."""
    cut: asyncio.CancelledError | None = None
    while left := [task for task in tasks if task is not None and not task.done()]:
        try:
            await asyncio.wait(left)
        except asyncio.CancelledError as error:
            cut = error
    if cut is not None:
        raise cut


async def wait_ignoring_errors(task: asyncio.Future[Any] | None) -> None:
    """Likewise, for one whose failure is of no interest: whoever ends has another."""
    try:
        await wait_uncancelled(task)
    finally:
        if task is not None and not task.cancelled():
            task.exception()


class ThreadPool:
    """Threads that each do one thing after the other; as many as are needed at once, and no more than `most`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._wishes: SimpleQueue[tuple[Callable[[], Any], asyncio.AbstractEventLoop, asyncio.Future[Any]] | None]
        self._wishes = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._busy = 0

    async def do(self, act: Callable[[], O]) -> O:
        """Call a function on a thread, and return what it returns."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[O] = loop.create_future()
        with self._lock:
            self._busy += 1
            is_short = self._busy > self._threads and self._threads < self._most
            self._threads += is_short
        if is_short:
            threading.Thread(target=self._run, name="leasehold-hand", daemon=True).start()
        self._wishes.put((act, loop, future))
        return await future

    def _run(self) -> None:
        while (wish := self._wishes.get()) is not None:
            act, loop, future = wish
            answer: Any
            try:
                answer = act()
            except Exception as error:  # noqa: BLE001 — whoever waits is told
                answer = error
            with self._lock:
                self._busy -= 1
            if not loop.is_closed():
                loop.call_soon_threadsafe(_settle, [(future, answer)])

    def close(self) -> None:
        """Have the threads end after what they do now."""
        for _ in range(self._threads):
            self._wishes.put(None)


class UncancellableFuture(asyncio.Future[O]):
    """A future that no cancel ends: whoever awaits it is cancelled when it is over."""

    def cancel(self, msg: object = None) -> bool:  # noqa: ARG002
        """Refuse: it will be answered."""
        return False


class Batches(Generic[I, O]):
    """Gathers wishes; whatever gathers while a group is done is the next group: no timer, no set size.

    `work` answers each of a group with a result or an exception, in order. `promise`: what those who wait are given.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[list[I]], Sequence[O | Exception]],
        most: int,
        promise: type[asyncio.Future[O]] = asyncio.Future,
    ) -> None:
        self._name = name
        self._promise = promise
        self._work = work
        self._most = most
        self._gathered: list[Wish] = []
        self._changed = threading.Condition()
        self._closed = False
        self._thread: threading.Thread | None = None

    def do(self, item: I) -> asyncio.Future[O]:
        """Have something done, with whatever others are waiting for; to be awaited."""
        loop = asyncio.get_running_loop()
        future = self._promise(loop=loop)
        with self._changed:
            if self._closed:
                raise RuntimeError(f"{self._name} is closed")
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
            self._gathered.append((item, loop, future))
            self._changed.notify()
        return future

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._gathered or self._closed)
                group, self._gathered = self._gathered[: self._most], self._gathered[self._most :]
            if not group:
                return
            answers: Sequence[O | Exception]
            try:
                answers = self._work([item for item, _, _ in group])
            except Exception as error:  # noqa: BLE001 — those who wait are told
                answers = [error] * len(group)
            _answer(group, answers)

    def close(self) -> None:
        """Do what is left, and stop."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()


def _answer(group: Sequence[Wish], answers: Sequence[Any]) -> None:
    """Tell each who waits, with one call to each loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]] = {}
    for (_, loop, future), answer in zip(group, answers, strict=True):
        by_loop.setdefault(loop, []).append((future, answer))
    for loop, pairs in by_loop.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_settle, pairs)


def _settle(pairs: Sequence[tuple[asyncio.Future[Any], Any]]) -> None:
    for future, answer in pairs:
        if future.done():  # whoever asked waits no longer
            continue
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)
