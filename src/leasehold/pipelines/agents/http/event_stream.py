"""The parent stream of a session as server-sent events: `id` is the event's `seq`, `data` its line of canonical JSON.

A client that comes back sends the last `id` it got, and goes on behind it: nothing is lost or repeated, because the
stream is read from the stored events alone.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from itertools import islice
from typing import Final

from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from leasehold.pipelines.agents.events import StoredEvent, events_of
from leasehold.pipelines.agents.http.answers import HEADERS, refuse
from leasehold.pipelines.agents.http.errors import ParameterInvalid
from leasehold.pipelines.agents.http.follow import FollowedStream, StreamFollower, StreamPosition
from leasehold.pipelines.agents.http.limits import COMMENT_SECONDS, RECONNECT_MILLISECONDS
from leasehold.pipelines.agents.http.threads import BlockingThreads
from leasehold.pipelines.agents.records.limits import PAGE
from leasehold.pipelines.agents.records.records import AgentRecords

LAST_EVENT_ID: Final = "last-event-id"
COMMENT: Final = b":\n\n"
_seq: Final = re.compile(r"0|[1-9][0-9]{0,17}\Z")


def last_seen(request: Request) -> int:
    """Return the sequence number behind which a client wants to go on; 0 for a new client."""
    given = request.headers.getlist(LAST_EVENT_ID)
    if not given:
        return 0
    if len(given) > 1 or not _seq.fullmatch(given[0]):
        raise ParameterInvalid("`Last-Event-ID` is the number of an event.")
    return int(given[0])


def check_seen(after: int, position: StreamPosition) -> None:
    if after > position.last_seq:
        raise ParameterInvalid(
            "`Last-Event-ID` is beyond the last event; it belongs to another stream.", last_seq=position.last_seq
        )


class EventFeed:
    """Reads the events of streams, and lets clients wait for more."""

    def __init__(self, records: AgentRecords, threads: BlockingThreads) -> None:
        self.follower = StreamFollower(records, threads)
        self._records = records
        self._threads = threads

    async def lines(self, stream: FollowedStream, after: int) -> AsyncIterator[bytes]:
        """Yield what a client is sent, until the stream is over."""
        yield f"retry: {RECONNECT_MILLISECONDS}\n\n".encode()
        while True:
            changed, position, is_over = stream.changed, stream.position, stream.is_over
            if after < position.last_seq:
                events = await self._threads.run(lambda: self._page(position.stream_id, after))  # noqa: B023
                yield b"".join(map(event_text, events))
                after = events[-1].seq
            elif is_over or not position.is_active:
                return
            elif not await _is_set(changed):
                yield COMMENT

    def _page(self, stream_id: str, after: int) -> Sequence[StoredEvent]:
        return self._records.read(lambda reading: list(islice(events_of(reading, stream_id, after), PAGE)))


async def _is_set(changed: asyncio.Event) -> bool:
    try:
        async with asyncio.timeout(COMMENT_SECONDS):
            return await changed.wait()
    except TimeoutError:
        return False


def event_text(event: StoredEvent) -> bytes:
    """Return an event as it is sent. Its body has no end of line: canonical JSON escapes them."""
    return f"id: {event.seq}\nevent: {event.event}\ndata: {event.body}\n\n".encode()


class EventStream(StreamingResponse):
    """Sends a session's events from one on, and new ones as they come."""

    media_type = "text/event-stream"

    def __init__(self, reader: EventFeed, parent_session_id: str, position: StreamPosition, after: int) -> None:
        super().__init__((), headers={**HEADERS, "X-Accel-Buffering": "no"})
        self._reader = reader
        self._parent_session_id = parent_session_id
        self._position = position
        self._after = after

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (refusal := self._reader.follower.refusal()) is not None:
            await refuse(refusal)(scope, receive, send)
            return
        with self._reader.follower.follow(self._parent_session_id, self._position) as stream:
            self.body_iterator = self._reader.lines(stream, self._after)
            await super().__call__(scope, receive, send)
