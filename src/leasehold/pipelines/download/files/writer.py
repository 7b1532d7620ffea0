"""Writing a body into its part, which is hashed and, from time to time, synced on threads behind the writing."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from leasehold.pipelines.download.files.part import LockedPart, Part, Sidecar
from leasehold.pipelines.download.http.client import Body
from leasehold.pipelines.download.process.concurrency import ThreadPool, wait_ignoring_errors, wait_uncancelled

AT_ONCE_BYTES: Final = 4 * 1024 * 1024
STEP_BYTES: Final = 2 * 1024 * 1024
SYNC_BYTES: Final = 64 * 1024 * 1024
OnProgress = Callable[[int, int | None], None]


class PartWriter:
    """Writes a body; `digest` holds the bytes before it.

    Its first bytes are hashed at once, those of a large file on threads. They are read back from the file, which the
    kernel has in memory: no buffer is shared with the receiver. Where a sync takes longer than it takes to fetch as
    much again, nothing more is taken in meanwhile.
    """

    def __init__(
        self,
        part: Part,
        part_file: LockedPart,
        body: Body,
        sidecar: Sidecar | None,
        digest: Any,
        on_progress: OnProgress,
        threads: ThreadPool,
    ) -> None:
        # A 206 response may omit headers that the first response had.
        self._sidecar = part.sidecar(body.head) if sidecar is None or body.start == 0 else sidecar
        self._part = part
        self._part_file = part_file
        self._body = body
        self._digest = digest
        self._on_progress = on_progress
        self._threads = threads
        self.size = self._hashed = self._sync_start = body.start
        self._hash_step = STEP_BYTES
        self._hashing: asyncio.Task[None] | None = None
        self._syncing: asyncio.Task[None] | None = None
        self._is_paused = self._is_ending = False

    async def copy_body(self) -> str:
        """Write all of it, and return the digest in hex. No thread works on the part when this ends."""
        try:
            await self._body.copy_in(self.write, self.tick)
            return await self.finish()
        finally:
            self._is_ending = True
            await wait_ignoring_errors(self._syncing, self._hashing)  # the file must not be closed before

    def write(self, view: memoryview) -> None:
        self._part_file.write(view)
        self.size += len(view)
        if self.size <= self._body.start + AT_ONCE_BYTES:
            self._digest.update(view)
            self._hashed = self.size
        else:
            self._hash_on()
        if self.size - self._sync_start < SYNC_BYTES:
            return
        if self._syncing is None:
            self._sync_start = self.size
            self._syncing = asyncio.get_running_loop().create_task(self._sync())
        elif not self._is_paused:
            self._is_paused = True
            self._body.pause()

    def _hash_on(self) -> None:
        if self._hashing is None and self.size - self._hashed >= self._hash_step:
            self._hashing = asyncio.get_running_loop().create_task(self._hash())

    async def _hash(self) -> None:
        """Hash what is there, on a thread for each stretch: no thread is kept waiting for bytes to come."""
        while self.size - self._hashed >= self._hash_step and not self._is_ending:
            upto = self.size
            await self._threads.do(partial(self._part_file.hash_into, self._digest, self._hashed, upto))
            self._hashed = upto
        self._hashing = None

    async def _sync(self) -> None:
        size = self._sync_start
        try:
            await self._threads.do(self._part_file.sync)
        except OSError:
            self._part.remove()  # the kernel reports it once: the next sync would succeed
            raise
        self._part.record_synced(self._sidecar, size)
        self._syncing = None
        if self._is_paused:
            self._is_paused = False
            self._body.resume()

    def tick(self) -> bool:
        """Report the progress; return whether this disk is slow and the stream paused."""
        for task in (self._syncing, self._hashing):
            if task is not None and task.done():
                task.result()  # it failed
        self._on_progress(self.size, self._body.head.length)
        return self._is_paused

    async def finish(self) -> str:
        """Hash what is left, wait for a sync that is under way, and return the digest in hex."""
        self._hash_step = 1
        self._hash_on()
        for task in (self._hashing, self._syncing):
            if task is not None:
                await wait_uncancelled(task)
                task.result()
        return str(self._digest.hexdigest())
