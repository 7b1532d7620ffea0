"""Shutdown: a wait for a server, or a read of a part, is cut short when the worker stops; the task is released.

A stop has a few seconds, and a server may take a minute to answer. One task of the loop looks for all who wait.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Final

from leasehold import Released, Task

LOOK_SECONDS: Final = 0.2


class ShutdownGuard:
    """Attempts that may be cut short, by the loop's task that runs each."""

    def __init__(self) -> None:
        self._present: dict[asyncio.Task[object], tuple[Task, float]] = {}
        self._told: set[asyncio.Task[object]] = set()
        self._watch: asyncio.Task[None] | None = None

    def among(self, task: Task, patience: float = 0.0) -> _Guarded:
        """Have the block cut short, with `Released`, so many seconds after the worker begins to stop."""
        return _Guarded(self, task, patience)

    def enter(self, lane: asyncio.Task[object], task: Task, patience: float) -> None:
        """Have one who waits looked after."""
        self._present[lane] = task, patience
        if self._watch is None or self._watch.done():
            self._watch = asyncio.get_running_loop().create_task(self._look())

    def leave(self, lane: asyncio.Task[object]) -> bool:
        """Remove one; return whether it was stopped."""
        self._present.pop(lane, None)
        was_told = lane in self._told
        self._told.discard(lane)
        return was_told

    def extend_patience(self, patience: float) -> None:
        """Have the block that runs now left alone so many seconds longer."""
        lane = asyncio.current_task()
        if lane in self._present:
            self._present[lane] = self._present[lane][0], patience

    async def _look(self) -> None:
        waited = 0.0
        while self._present:
            await asyncio.sleep(LOOK_SECONDS)
            for lane, (task, patience) in self._present.items():
                if task.stopping and lane not in self._told and waited >= patience:
                    self._told.add(lane)
                    lane.cancel()
            waited += LOOK_SECONDS if any(task.stopping for task, _ in self._present.values()) else 0.0


class _Guarded:
    """A block that may be cut short. It is entered several times for every file: no generator."""

    __slots__ = ("_lane", "_patience", "_shutdown", "_task")

    def __init__(self, shutdown: ShutdownGuard, task: Task, patience: float) -> None:
        self._shutdown = shutdown
        self._task = task
        self._patience = patience
        lane = asyncio.current_task()
        assert lane is not None
        self._lane = lane

    def __enter__(self) -> None:
        self._shutdown.enter(self._lane, self._task, self._patience)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        was_told = self._shutdown.leave(self._lane)
        is_cut = isinstance(error, asyncio.CancelledError)
        if is_cut and was_told and self._lane.uncancel() == 0:  # by nobody else
            raise Released("the worker is stopping") from None
