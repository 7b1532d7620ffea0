"""Async handlers on one event loop: few tasks for many attempts.

A lane is an asyncio task that runs attempts one after another, so a handler that never waits costs no task of its
own. Before each call the next lane is put on the loop's list: if the handler waits, the loop turns to that lane,
which takes over what is left; if it does not, the lane goes on by itself. A lane whose context a handler has
changed ends, so that no attempt sees another's context variables.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from contextvars import Context, copy_context
from typing import Any

from leasehold.runtime.attempt import Attempt
from leasehold.runtime.limits import LOOP_SHUTDOWN_SECONDS

Run = Callable[[Attempt], Awaitable[None]]


class LoopRunner:
    """The event loop of a worker, in a thread of its own from its first use on."""

    def __init__(self, run: Run, on_trouble: Callable[[BaseException], None]) -> None:
        self._run = run
        self._on_trouble = on_trouble
        self._closed = threading.Event()
        self.loop = asyncio.new_event_loop()
        self._waiting: deque[Attempt] = deque()
        self._lanes: set[asyncio.Task[None]] = set()
        self._base: Context = copy_context()
        self._is_coming = False
        self._is_started = False
        self._lock = threading.Lock()

    def take(self, attempts: list[Attempt]) -> None:
        """Run attempts, as many at once as they wait for something."""
        self._start()
        self.loop.call_soon_threadsafe(self._take, attempts, context=self._base)

    def wait_for(self, awaitable: Awaitable[Any]) -> Any:
        """Run something on the loop and wait for it on this thread."""

        async def run() -> Any:
            return await awaitable

        self._start()
        return asyncio.run_coroutine_threadsafe(run(), self.loop).result()

    def _start(self) -> None:
        with self._lock:
            if not self._is_started:
                self._is_started = True
                threading.Thread(target=self._run_loop, name="leasehold-loop", daemon=True).start()

    def close(self) -> None:
        """Stop the loop; what runs on it is not waited for."""
        self._closed.set()
        if self._is_started:
            self.loop.call_soon_threadsafe(self.loop.stop)
        else:
            self.loop.close()

    def _run_loop(self) -> None:
        while not self._closed.is_set():
            try:
                self.loop.run_forever()  # a handler's task may end it with SystemExit, or stop it: it goes on
            except BaseException as error:  # noqa: BLE001
                self._on_trouble(error)
        self._cancel_all(self._lanes)
        self._cancel_all(asyncio.all_tasks(self.loop))  # what handlers have left behind
        self.loop.close()

    def _cancel_all(self, tasks: Iterable[asyncio.Task[Any]]) -> None:
        if left := list(tasks):
            for task in left:
                task.cancel()
            self.loop.run_until_complete(asyncio.wait(left, timeout=LOOP_SHUTDOWN_SECONDS))

    def _take(self, attempts: list[Attempt]) -> None:
        self._waiting.extend(attempts)
        self._add_lane()

    def _add_lane(self) -> None:
        self._is_coming = False
        if self._waiting:
            lane = self.loop.create_task(self._serve(), context=self._base.copy())
            self._lanes.add(lane)
            lane.add_done_callback(self._lanes.discard)

    def _call_next(self) -> None:
        if self._waiting and not self._is_coming:
            self._is_coming = True
            self.loop.call_soon(self._add_lane, context=self._base)

    async def _serve(self) -> None:
        lane = asyncio.current_task()
        assert lane is not None
        while self._waiting:
            attempt = self._waiting.popleft()
            self._call_next()
            current = [attempt]
            attempt.stop = lambda current=current: self.loop.call_soon_threadsafe(_cancel, lane, current)
            await self._run(attempt)
            current.clear()
            while lane.uncancel():
                pass
            if copy_context() != self._base:
                self._call_next()
                return


def _cancel(lane: asyncio.Task[None], current: list[Attempt]) -> None:
    if current:
        lane.cancel()
