"""Follows the parent streams of sessions for any number of clients: one task looks for new events, for all of them.

Clients read events themselves, each from its own place; this lets them know that there is something to read, or that
nothing more will come: the session has no coordinator, the server stops, or the database failed.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from leasehold.errors import LeaseholdError
from leasehold.pipelines.agents.errors import SessionUnknown
from leasehold.pipelines.agents.http.errors import ServerStopping, TooManyRequests, report
from leasehold.pipelines.agents.http.limits import FOLLOW_SECONDS, STREAMS_MAX
from leasehold.pipelines.agents.http.threads import BlockingThreads
from leasehold.pipelines.agents.records.records import AgentRecords, Transaction


@dataclass(frozen=True, slots=True)
class StreamPosition:
    """How far a session's parent stream goes, and whether the session has a coordinator, who may add to it."""

    stream_id: str
    last_seq: int
    is_active: bool


@dataclass(slots=True)
class FollowedStream:
    """What clients of one session share. `changed` is set, and replaced, when there is something to look at."""

    position: StreamPosition
    clients: int = 0
    is_over: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def announce(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


def read_position(transaction: Transaction, parent_session_id: str) -> StreamPosition:
    if rows := transaction.run("stream/position", parent_session_id=parent_session_id):
        stream_id, last_seq, is_active = rows[0]
        return StreamPosition(stream_id, last_seq, bool(is_active))
    raise SessionUnknown(parent_session_id=parent_session_id)


class StreamFollower:
    """All methods are called on the event loop of the server."""

    def __init__(self, records: AgentRecords, threads: BlockingThreads) -> None:
        self._records = records
        self._threads = threads
        self._followed: dict[str, FollowedStream] = {}
        self._task: asyncio.Task[None] | None = None
        self._is_stopping = False

    def refusal(self) -> LeaseholdError | None:
        """Return why no more streams can be followed now."""
        if self._is_stopping:
            return ServerStopping()
        if sum(stream.clients for stream in self._followed.values()) >= STREAMS_MAX:
            return TooManyRequests(f"The limit is {STREAMS_MAX} open streams of events.")
        return None

    @contextmanager
    def follow(self, parent_session_id: str, position: StreamPosition) -> Iterator[FollowedStream]:
        """Follow a session as long as the block runs."""
        stream = self._followed.setdefault(parent_session_id, FollowedStream(position))
        stream.clients += 1
        if self._task is None:
            self._task = asyncio.create_task(self._look())
        try:
            yield stream
        finally:
            stream.clients -= 1
            if stream.clients == 0 and self._followed.get(parent_session_id) is stream:
                del self._followed[parent_session_id]

    def stop(self) -> None:
        """End every stream; their clients go on at another server."""
        self._is_stopping = True
        self._end_all()

    def _end_all(self) -> None:
        followed, self._followed = self._followed, {}
        for stream in followed.values():
            stream.is_over = True
            stream.announce()

    async def _look(self) -> None:
        """Look for new events until nobody follows."""
        try:
            while self._followed:
                await asyncio.sleep(FOLLOW_SECONDS)
                await self._look_once()
        except Exception as error:  # noqa: BLE001 — it is logged, and the clients connect again
            report(error)
            self._end_all()
        finally:
            self._task = None

    async def _look_once(self) -> None:
        names = list(self._followed)

        def read(transaction: Transaction) -> list[StreamPosition]:
            return [read_position(transaction, name) for name in names]

        for name, found in zip(names, await self._threads.run(lambda: self._records.read(read)), strict=True):
            stream = self._followed.get(name)
            if stream is not None and stream.position != found:
                stream.position = found
                stream.announce()
