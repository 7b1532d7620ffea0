"""One HTTP/1.1 connection on an event loop: one request at a time, the head of its response, and a body for a sink.

A body whose length is known goes from the receive buffer to the sink without a copy.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from enum import Enum, auto
from typing import Any, Final

from leasehold.pipelines.download.http.response import HEAD_BYTES_MAX, ResponseHead, ResponseReader, Sink
from leasehold.pipelines.download.limits import CHECK_SECONDS

BLOCK_BYTES: Final = 1024 * 1024
BODILESS: Final = (204, 304)


class ConnectionClosed(ConnectionResetError):
    """The server closed the connection before it sent a response."""


class Phase(Enum):
    IDLE = auto()
    AWAITING_HEAD = auto()
    HEAD_RECEIVED = auto()  # and nobody has asked for the body yet
    READING_BODY = auto()
    CLOSED = auto()


class Connection(asyncio.BufferedProtocol):
    """One connection. Its owner sends a request, receives the body, and sends the next one while `is_idle`."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.transport: asyncio.Transport | None = None
        self._view = memoryview(bytearray(HEAD_BYTES_MAX))
        self._filled = 0
        self._phase = Phase.IDLE
        self._waiting: asyncio.Future[Any] | None = None
        self._response: ResponseReader | None = None
        self._ended: Exception | None = None

    @property
    def is_idle(self) -> bool:
        return self._phase is Phase.IDLE and self._ended is None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 — there is one buffer
        return self._view[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        self._filled += nbytes
        match self._phase:
            case Phase.AWAITING_HEAD | Phase.READING_BODY:
                self._feed()
            case Phase.HEAD_RECEIVED:
                if self._filled == len(self._view):
                    self.pause()
            case Phase.IDLE | Phase.CLOSED:
                self.close()  # nothing was requested

    def eof_received(self) -> bool:
        self._end(ConnectionClosed("the server closed the connection"))
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(exc or ConnectionClosed("the server closed the connection"))

    def _end(self, error: Exception) -> None:
        self._ended = self._ended or error
        if self._waiting is not None:
            ends_body = isinstance(self._ended, ConnectionClosed) and self._response and self._response.ends_by_closing
            self._resolve(None if ends_body else self._ended)

    def _resolve(self, result: Any) -> None:
        """Wake the one who waits for a head, or for the end of a body."""
        waiting, self._waiting = self._waiting, None
        if waiting is None or waiting.done():
            return
        if isinstance(result, Exception):
            self._phase = Phase.CLOSED
            waiting.set_exception(result)
        else:
            waiting.set_result(result)

    async def request(self, raw: bytes, timeout: float, *, is_bodiless: bool = False) -> ResponseHead:  # noqa: ASYNC109 — one limit from the first byte on
        """Send a request and return the head of its response. `is_bodiless`: no body follows, as with HEAD."""
        assert self.transport is not None
        if not self.is_idle or self.transport.is_closing():
            raise ConnectionClosed("the connection is closed")
        self._phase = Phase.AWAITING_HEAD
        self._response = response = ResponseReader()
        waiting: asyncio.Future[ResponseHead] = self._loop.create_future()
        self._waiting = waiting
        self.resume()  # it may have been paused during the previous response
        self.transport.write(raw)
        timer = self._loop.call_later(timeout, self._time_out, waiting)
        try:
            head = await waiting
        finally:
            timer.cancel()
        if is_bodiless or head.status_code in BODILESS:
            self._finish(can_stay=head.keep_alive and response.is_untouched and not self._filled)
        return head

    def _time_out(self, waiting: asyncio.Future[ResponseHead]) -> None:
        if self._waiting is waiting:
            self._resolve(TimeoutError("no response within the time-out"))

    def _finish(self, *, can_stay: bool) -> None:
        """Be ready for the next request, if the connection can be used for one."""
        self._phase = Phase.IDLE if can_stay else Phase.CLOSED
        self._response = None

    def _feed(self) -> None:
        response = self._response
        if response is None or self._waiting is None:  # it failed, and the rest is not wanted
            self.close()
            return
        view, self._filled = self._view[: self._filled], 0
        try:
            response.feed(view)
        except Exception as error:  # noqa: BLE001 — raised where the response is awaited
            self._resolve(error)
            return
        if self._phase is Phase.READING_BODY:
            if response.is_complete:
                self._resolve(None)
        elif response.head is not None:
            self._phase = Phase.HEAD_RECEIVED
            self._resolve(response.head)

    async def receive(self, sink: Sink, watch: StallWatch) -> None:
        response = self._response
        assert response is not None
        assert response.head is not None
        if (length := response.head.length) is None or length > HEAD_BYTES_MAX:
            wide = memoryview(bytearray(BLOCK_BYTES))
            wide[: self._filled] = self._view[: self._filled]
            self._view = wide
        response.start_body(sink)
        if not response.is_complete:
            await self._receive_rest(response, watch)
        is_spent = response.ends_by_closing or response.has_surplus or self._filled > 0
        self._finish(can_stay=response.head.keep_alive and not is_spent)
        if len(self._view) > HEAD_BYTES_MAX:
            self._view = memoryview(bytearray(HEAD_BYTES_MAX))

    async def _receive_rest(self, response: ResponseReader, watch: StallWatch) -> None:
        self._phase = Phase.READING_BODY
        waiting = self._waiting = self._loop.create_future()
        if self._filled:
            self._feed()
        if not waiting.done():
            self.resume()
            if self._ended is not None:
                self._end(self._ended)
        try:
            while not (await asyncio.wait([waiting], timeout=watch.interval))[0]:
                watch.check(response.received)
            await waiting
        except Exception:
            self._phase, self._waiting = Phase.CLOSED, None
            raise
        finally:
            waiting.cancel()  # no error of a body that nobody waits for is reported

    async def start_tls(self, context: ssl.SSLContext, host: str) -> None:
        """Speak TLS from now on with the host at the end of a tunnel."""
        assert self.transport is not None
        self.transport = await self._loop.start_tls(self.transport, self, context, server_hostname=host)
        self._phase = Phase.IDLE

    def pause(self) -> None:
        if self.transport is not None and self.transport.is_reading():
            self.transport.pause_reading()

    def resume(self) -> None:
        if self.transport is not None and not self.transport.is_closing() and not self.transport.is_reading():
            self.transport.resume_reading()

    def close(self) -> None:
        self._phase = Phase.CLOSED
        if self.transport is not None:
            self.transport.abort()


class StallWatch:
    """Raises `TimeoutError` where fewer than `bytes_min` bytes come in `seconds`: a trickle counts as a stall.

    `on_check` is called every `interval` seconds; it returns whether it is this side that has paused the stream.
    """

    def __init__(self, seconds: float, bytes_min: int, on_check: Callable[[], bool]) -> None:
        self.interval = min(CHECK_SECONDS, seconds / 4)
        self._seconds = seconds
        self._bytes_min = bytes_min
        self._on_check = on_check
        self._since = time.monotonic()
        self._received = 0

    def check(self, received: int) -> None:
        """Compare the bytes received so far with those of the last check that counted."""
        is_paused, now = self._on_check(), time.monotonic()
        if is_paused or received - self._received >= self._bytes_min:
            self._since, self._received = now, received
        elif now - self._since >= self._seconds:
            raise TimeoutError(f"only {received - self._received} bytes in {self._seconds:g} s")
