"""Hashing what is written: the first bytes at once, those of a large file on threads that follow the writing.

They are read back from the file, which the kernel has in memory: no buffer is shared with the receiver.
"""

import asyncio
from functools import partial
from typing import Any, Final

from leasehold.pipelines.download.files.part_file import LockedPart
from leasehold.pipelines.download.process.concurrency import ThreadPool, wait_ignoring_errors, wait_uncancelled

AT_ONCE_BYTES: Final = 4 * 1024 * 1024
STEP_BYTES: Final = 2 * 1024 * 1024


class BackgroundHash:
    """The digest of a draft, from byte `start` on, which `digest` holds already."""

    def __init__(self, part_file: LockedPart, digest: Any, start: int, threads: ThreadPool) -> None:
        self._part_file = part_file
        self._digest = digest
        self._threads = threads
        self._turn = start + AT_ONCE_BYTES  # from here on it is hashed on threads
        self._hashed = self._written = start
        self._following: asyncio.Task[None] | None = None
        self._least = STEP_BYTES
        self._is_given_up = False

    def add(self, view: memoryview) -> None:
        """Take in what was just written."""
        self._written += len(view)
        if self._written <= self._turn:
            self._digest.update(view)
            self._hashed = self._written
        else:
            self._go_on()

    def _go_on(self) -> None:
        if self._following is None and self._written - self._hashed >= self._least:
            self._following = asyncio.get_running_loop().create_task(self._follow())

    async def _follow(self) -> None:
        """Hash what is there, on a thread for each stretch: no thread is kept waiting for bytes to come."""
        while self._written - self._hashed >= self._least and not self._is_given_up:
            upto = self._written
            await self._threads.do(partial(self._part_file.hash_into, self._digest, self._hashed, upto))
            self._hashed = upto
        self._following = None

    async def end(self) -> str:
        """Hash what is left, and return the digest of all in hex."""
        self._least = 1
        self._go_on()
        if (following := self._following) is not None:
            await wait_uncancelled(following)
            following.result()
        return str(self._digest.hexdigest())

    async def give_up(self) -> None:
        """Wait for the running stretch even if cancelled: its file must not be closed before."""
        self._is_given_up = True
        await wait_ignoring_errors(self._following)

    def check(self) -> None:
        """Raise what went wrong with the hashing so far."""
        if self._following is not None and self._following.done():
            self._following.result()
