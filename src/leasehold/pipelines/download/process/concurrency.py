"""Threads for a handler that runs on a loop: many that wait for a network each, and one that syncs a disk for all.

None of them keeps a process from ending.
"""

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

from leasehold.batching import Promise, answer_all

T = TypeVar("T")


async def wait_uncancelled(*tasks: asyncio.Future[Any] | None) -> None:
    """Wait until all are done even if cancelled meanwhile; the cancellation is raised afterwards."""
    cut: asyncio.CancelledError | None = None
    while left := [task for task in tasks if task is not None and not task.done()]:
        try:
            await asyncio.wait(left)
        except asyncio.CancelledError as error:
            cut = error
    if cut is not None:
        raise cut


async def wait_ignoring_errors(*tasks: asyncio.Future[Any] | None) -> None:
    """Likewise, and ignore their errors: the caller already has one."""
    try:
        await wait_uncancelled(*tasks)
    finally:
        for task in tasks:
            if task is not None and not task.cancelled():
                task.exception()


class ThreadPool:
    """Threads that each do one thing after the other; as many as are needed at once, and no more than `most`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._calls: SimpleQueue[tuple[Callable[[], Any], Promise[Any]] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._busy = 0

    async def do(self, act: Callable[[], T]) -> T:
        promise: Promise[T] = Promise(loop=asyncio.get_running_loop())
        with self._lock:
            self._busy += 1
            is_short = self._busy > self._threads and self._threads < self._most
            self._threads += is_short
        if is_short:
            threading.Thread(target=self._run, name="leasehold-file-io", daemon=True).start()
        self._calls.put((act, promise))
        return await promise

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            act, promise = call
            answer: Any
            try:
                answer = act()
            except Exception as error:  # noqa: BLE001 — the caller gets it
                answer = error
            with self._lock:
                self._busy -= 1
            answer_all([(promise, answer)])

    def close(self) -> None:
        for _ in range(self._threads):
            self._calls.put(None)
