"""Records that a handler went ahead of: handed over, and not waited for before something depends on them.

The committer writes what an attempt hands over in order, so a record is committed with what the attempt asks for next,
or before it. An act waits for both; so does the end of the attempt, since nothing can be recorded after that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from leasehold.model.effect import Entry
from leasehold.runtime.commit.replies import AsyncReply

Wait = Callable[[], Entry]


class PendingRecords:
    """The records of one attempt that nobody has waited for. Trouble with one is raised each time anybody does."""

    def __init__(self) -> None:
        self._waits: list[Wait] = []
        self._replies: list[AsyncReply] = []
        self.home: asyncio.AbstractEventLoop | None = None  # the handler's own

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._waits or self._replies)

    def add(self, wait: Wait) -> None:
        """Note one that a thread will wait for."""
        self._waits.append(wait)

    def add_async(self, reply: AsyncReply) -> bool:
        """Note one that will be awaited; not one of another loop, which is to be awaited there, while it runs."""
        if reply.loop is not self.home:
            return False
        self._replies.append(reply)
        return True

    def settle(self) -> None:
        """Wait until all are on record."""
        for wait in tuple(self._waits):
            wait()
            with suppress(ValueError):  # another thread of the handler was faster
                self._waits.remove(wait)

    async def wait_async(self) -> asyncio.CancelledError | None:
        """Await that, and return the cancel that came meanwhile."""
        cut: asyncio.CancelledError | None = None
        for reply in tuple(self._replies):
            _, late = await await_uncancelled(reply)
            cut = cut or late
            with suppress(ValueError):
                self._replies.remove(reply)
        return cut

    def rest(self) -> None:
        """Wait until none is under way, whatever came of it."""
        for wait in tuple(self._waits):
            with suppress(Exception):
                wait()

    async def drain_async(self) -> None:
        """Await that."""
        for reply in tuple(self._replies):
            with suppress(Exception):
                await await_uncancelled(reply)


async def await_uncancelled(reply: AsyncReply) -> tuple[Entry, asyncio.CancelledError | None]:
    """Await an answer, which no cancel ends, and return it with the cancel that came meanwhile."""
    try:
        return await reply, None
    except asyncio.CancelledError as error:
        if not reply.is_answered:
            raise
        return reply.result(), error
