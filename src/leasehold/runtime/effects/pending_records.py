"""Records that a handler did not wait for (`ahead=True`): handed over, and waited for before something depends on them.

The committer writes what an attempt hands over in order, so a record is committed with the attempt's next entry or
before it. An act waits for both; so does the end of the attempt, since nothing can be recorded after that.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from leasehold.model.effect import Entry
from leasehold.runtime.commit.replies import AsyncReply

Wait = Callable[[], Entry]


class PendingRecords:
    """The pending records of one attempt. An error of one is raised by every wait for it.

    `loop` is the loop of an async handler, whose records are awaited; those of a sync handler block its thread.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._waits: list[Wait] = []
        self._replies: list[AsyncReply] = []
        self._loop = loop

    def __bool__(self) -> bool:
        return bool(self._waits or self._replies)

    def add(self, wait: Wait) -> None:
        self._waits.append(wait)

    def add_async(self, reply: AsyncReply) -> bool:
        """Add a record of the handler's own loop. One of another loop must be awaited there, while that runs."""
        if reply.loop is not self._loop:
            return False
        self._replies.append(reply)
        return True

    def wait(self) -> None:
        """Block until all records of a sync handler are committed."""
        for wait in tuple(self._waits):
            wait()
            with suppress(ValueError):  # another thread of the handler was faster
                self._waits.remove(wait)

    async def wait_async(self) -> asyncio.CancelledError | None:
        """Await that all records of an async handler are committed; return the cancel that came meanwhile."""
        cancel: asyncio.CancelledError | None = None
        for reply in tuple(self._replies):
            _, late = await await_uncancelled(reply)
            cancel = cancel or late
            with suppress(ValueError):
                self._replies.remove(reply)
        return cancel

    async def drain(self) -> None:
        """Wait until no record is in flight, whatever came of it."""
        for wait in tuple(self._waits):
            with suppress(Exception):
                wait()
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
