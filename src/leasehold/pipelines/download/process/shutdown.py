"""Shutdown: a wait for a server, or a read of a part, is cut short when the worker stops; the task is released.

A stop has a few seconds, and a server may take a minute to answer. One task of the loop watches all that wait.
"""

from __future__ import annotations

import asyncio
from types import TracebackType

from leasehold import Released, Task
from leasehold.pipelines.download.limits import LOOK_SECONDS


class ShutdownGuard:
    """Blocks that may be cut short, by the loop's task that runs each."""

    def __init__(self) -> None:
        self.blocks: dict[asyncio.Task[object] | None, _Block] = {}
        self._watch: asyncio.Task[None] | None = None

    def guard(self, task: Task, patience: float = 0.0) -> _Block:
        """Have the block cut short, with `Released`, so many seconds after the worker begins to stop."""
        return _Block(self, task, patience)

    def extend_patience(self, patience: float) -> None:
        """Have the block that runs now left alone so many seconds longer."""
        if (block := self.blocks.get(asyncio.current_task())) is not None:
            block.patience = patience

    def watch(self) -> None:
        if self._watch is None or self._watch.done():
            self._watch = asyncio.get_running_loop().create_task(self._look())

    async def _look(self) -> None:
        waited = 0.0
        while self.blocks:
            await asyncio.sleep(LOOK_SECONDS)
            stopping = [block for block in self.blocks.values() if block.task.stopping]
            for block in stopping:
                if not block.is_cut and waited >= block.patience:
                    block.is_cut = True
                    block.runner.cancel()
            waited += LOOK_SECONDS if stopping else 0.0


class _Block:
    """A block that may be cut short. It is entered several times for every file: no generator."""

    __slots__ = ("_guard", "is_cut", "patience", "runner", "task")

    def __init__(self, guard: ShutdownGuard, task: Task, patience: float) -> None:
        runner = asyncio.current_task()
        assert runner is not None
        self.runner = runner
        self.task = task
        self.patience = patience
        self.is_cut = False
        self._guard = guard

    def __enter__(self) -> None:
        self._guard.blocks[self.runner] = self
        self._guard.watch()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._guard.blocks.pop(self.runner, None)
        if isinstance(error, asyncio.CancelledError) and self.is_cut and self.runner.uncancel() == 0:  # by nobody else
            raise Released("the worker is stopping") from None
