"""Writing a body into its part: hashed behind the writer, and synced from time to time."""

import asyncio
from collections.abc import Callable
from typing import Final

from leasehold.pipelines.download.files.background_hash import BackgroundHash
from leasehold.pipelines.download.files.part import Part, Sidecar
from leasehold.pipelines.download.files.part_file import LockedPart
from leasehold.pipelines.download.http.client import Body
from leasehold.pipelines.download.process.concurrency import ThreadPool, wait_ignoring_errors, wait_uncancelled

SYNC_BYTES: Final = 64 * 1024 * 1024
OnProgress = Callable[[int, int | None], None]


class PartWriter:
    """Writes what comes and has it hashed and, from time to time, synced.

    Where a sync takes longer than it takes to fetch as much again, nothing more is taken in meanwhile.
    """

    def __init__(
        self,
        part_file: LockedPart,
        background: BackgroundHash,
        body: Body,
        part: Part,
        sidecar: Sidecar | None,
        on_progress: OnProgress,
        threads: ThreadPool,
    ) -> None:
        # A 206 response may omit headers that the first response had.
        self._sidecar = part.sidecar(body.head, 0) if sidecar is None or body.start == 0 else sidecar
        self.size = self._begun = body.start
        self._part_file = part_file
        self._background = background
        self._body = body
        self._part = part
        self._on_progress = on_progress
        self._threads = threads
        self._syncing: asyncio.Task[None] | None = None
        self._is_paused = False

    def write(self, view: memoryview) -> None:
        """Take in bytes."""
        self._part_file.write(view)
        self.size += len(view)
        self._background.add(view)
        if self.size - self._begun < SYNC_BYTES:
            return
        if self._syncing is None:
            self._begun = self.size
            self._syncing = asyncio.get_running_loop().create_task(self._sync())
        elif not self._is_paused:
            self._is_paused = True
            self._body.pause()

    async def _sync(self) -> None:
        size = self._begun
        try:
            await self._threads.do(self._part_file.sync)
        except OSError:
            self._part.forget()  # the kernel reports it once: the next sync would succeed
            raise
        self._part.write(self._part.with_synced(self._sidecar, size))
        self._syncing = None
        if self._is_paused:
            self._is_paused = False
            self._body.resume()

    def tick(self) -> bool:
        """Report the progress; return whether this disk is slow and the stream paused."""
        if self._syncing is not None and self._syncing.done():
            self._syncing.result()  # it failed
        self._background.check()
        self._on_progress(self.size, self._body.head.length)
        return self._is_paused

    async def end(self) -> None:
        """Wait for a sync that is under way, and raise what went wrong with it."""
        if (syncing := self._syncing) is not None:
            await wait_uncancelled(syncing)
            syncing.result()

    async def wait(self) -> None:
        """Wait for a sync that is under way, even when cancelled: its file must not be closed before."""
        await wait_ignoring_errors(self._syncing)
