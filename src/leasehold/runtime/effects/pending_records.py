"""Records that a handler did not wait for (`ahead=True`): handed over, and waited for before something depends on them.

The committer writes what an attempt hands over in order, so a record is committed with the attempt's next entry or
before it. An act waits for both; so does the end of the attempt, since nothing can be recorded after that.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from leasehold.model.effect import Entry
from leasehold.runtime.commit.replies import AsyncReply

Pending = AsyncReply | Callable[[], Entry]


class PendingRecords:
    """The pending records of one attempt. An error of one is raised by every wait for it.

    `loop` is the loop of an async handler, whose records are awaited; those of a sync handler block its thread.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._records: list[Pending] = []
        self._loop = loop

    def __bool__(self) -> bool:
        return bool(self._records)

    def add(self, record: Pending) -> bool:
        """Add a record; False for one of another loop, which must be awaited there while that runs."""
        if isinstance(record, AsyncReply) and record.loop is not self._loop:
            return False
        self._records.append(record)
        return True

    async def wait(self) -> asyncio.CancelledError | None:
        """Wait until all records are committed; return the cancel that came meanwhile."""
        cancel: asyncio.CancelledError | None = None
        for record in tuple(self._records):
            _, late = await answer_of(record)
            cancel = cancel or late
            with suppress(ValueError):  # another thread or task of the handler was faster
                self._records.remove(record)
        return cancel

    async def drain(self) -> None:
        """Wait until no record is in flight, whatever came of it."""
        for record in tuple(self._records):
            with suppress(Exception):
                await answer_of(record)


async def answer_of(asked: Pending) -> tuple[Entry, asyncio.CancelledError | None]:
    """Wait for an answer, which no cancel ends, and return it with the cancel that came meanwhile."""
    if not isinstance(asked, AsyncReply):
        return asked(), None
    try:
        return await asked, None
    except asyncio.CancelledError as error:
        if not asked.is_answered:
            raise
        return asked.result(), error
