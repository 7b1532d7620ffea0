"""One HTTP/1.1 connection on a loop: a question at a time, the head of its answer, and a body that goes into a sink.

Bytes come straight into a buffer of ours and from there to the sink, which hashes and writes them: nothing is copied.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

from leasehold.errors import Permanent, Transient

HEAD_BYTES_MAX: Final = 64 * 1024
BLOCK_BYTES: Final = 1024 * 1024
LINE_BYTES_MAX: Final = 8 * 1024
LENGTH_DIGITS_MAX: Final = 19
TICK_SECONDS: Final = 0.5
INFORMATION: Final = range(100, 200)
BODILESS: Final = (204, 304)
_end_of_head: Final = re.compile(rb"\r?\n\r?\n")
_status: Final = re.compile(rb"HTTP/(1\.[01]) +([1-5][0-9][0-9])(?: |$)")
_hex: Final = re.compile(rb"[0-9A-Fa-f]{1,15}")

Sink = Callable[[memoryview], None]


class ConnectionClosed(ConnectionResetError):
    """The other side has closed the connection before it said anything."""


class InvalidResponse(ConnectionResetError):
    """What came is no answer; on a connection that was used before it may be what is left of the last one."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The head of an answer; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    is_lasting: bool

    @property
    def is_chunked(self) -> bool:
        """Whether its body comes in chunks."""
        return "transfer-encoding" in self.headers

    @property
    def length(self) -> int | None:
        """How many bytes its body has, where that is told."""
        told = self.headers.get("content-length")
        return int(told) if told is not None and not self.is_chunked else None


class Phase(Enum):
    """How far an exchange is."""

    IDLE = auto()
    ASKED = auto()
    ANSWERED = auto()  # the head is here, and nobody has asked for the body yet
    READING_BODY = auto()
    CLOSED = auto()


class Connection(asyncio.BufferedProtocol):
    """One connection. Its owner asks, receives, and asks again while `is_idle`."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._view = memoryview(bytearray(HEAD_BYTES_MAX))
        self._filled = 0
        self._phase = Phase.IDLE
        self._waiting: asyncio.Future[Any] | None = None
        self._body: Body | None = None
        self._ended: Exception | None = None

    @property
    def is_idle(self) -> bool:
        """Whether another question may be asked."""
        return self._phase is Phase.IDLE and self._ended is None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 — there is one buffer
        return self._view[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        self._filled += nbytes
        match self._phase:
            case Phase.READING_BODY:
                self._pour()
            case Phase.ASKED:
                self._look()
            case Phase.ANSWERED:
                if self._filled == len(self._view):
                    self.pause()
            case Phase.IDLE | Phase.CLOSED:
                self.close()  # nobody has asked

    def eof_received(self) -> bool:
        self._break(ConnectionClosed("the server has closed the connection"))
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._break(exc or ConnectionClosed("the server has closed the connection"))

    def _break(self, error: Exception) -> None:
        self._ended = self._ended or error
        if self._waiting is not None:
            self._settle(None if self._is_end(self._ended) else self._ended)

    def _is_end(self, error: Exception) -> bool:
        return self._body is not None and self._body.ends_by_closing and isinstance(error, ConnectionClosed)

    def _settle(self, answer: Any) -> None:
        waiting, self._waiting, self._body = self._waiting, None, None
        if waiting is None or waiting.done():
            return
        if isinstance(answer, Exception):
            self._phase = Phase.CLOSED
            waiting.set_exception(answer)
        else:
            waiting.set_result(answer)

    async def ask(self, words: bytes, timeout: float) -> Answer:  # noqa: ASYNC109 — one limit from the first byte on
        """Ask, and return the head of the answer."""
        assert self._transport is not None
        if not self.is_idle or self._transport.is_closing():
            raise ConnectionClosed("the connection is closed")
        self._phase = Phase.ASKED
        waiting: asyncio.Future[Answer] = self._loop.create_future()
        self._waiting = waiting
        self.go_on()  # it may have been paused in the answer before
        self._transport.write(words)
        timer = self._loop.call_later(timeout, self._give_up, waiting)
        try:
            return await waiting
        finally:
            timer.cancel()

    def _give_up(self, waiting: asyncio.Future[Answer]) -> None:
        """Wait for an answer no longer, if it is still waited for."""
        if self._waiting is waiting:
            self._settle(TimeoutError("no answer came"))

    def _look(self) -> None:
        """See whether the head is there; what is told meanwhile, as by a 103, is passed over."""
        while found := _end_of_head.search(self._view[: self._filled]):
            text = bytes(self._view[: found.start()])
            self._keep(found.end())
            try:
                answer = parse_head(text)
            except Exception as error:  # noqa: BLE001 — whoever asked is told
                self._settle(error)
                return
            if answer.status not in INFORMATION:
                self._phase = Phase.ANSWERED
                self._settle(answer)
                return
        if self._filled == len(self._view):
            self._settle(Permanent("the head of the answer is too long", error_class="SCHEMA_INVALID"))

    def _keep(self, after: int) -> None:
        """Move what has not been used up to the front."""
        left = self._filled - after
        if left:
            self._view[:left] = bytes(self._view[after : self._filled])
        self._filled = left

    def be_done(self, answer: Answer) -> None:
        """Note that the answer has no body."""
        self._phase = Phase.IDLE if answer.is_lasting and not self._filled else Phase.CLOSED

    async def receive(self, answer: Answer, sink: Sink, watch: Watch) -> None:
        """Pour the body into a sink, to its end."""
        self._body = body = Body(answer, sink)
        if body.left is None or body.left > HEAD_BYTES_MAX:
            self._widen()
        self._phase = Phase.READING_BODY
        waiting = self._waiting = self._loop.create_future()
        self._pour()
        if not waiting.done():
            self.go_on()
            if self._ended is not None:
                self._break(self._ended)
            watch.begin(self._tick, body)
        try:
            await waiting
        finally:
            watch.cancel()
        lasts = answer.is_lasting and not body.ends_by_closing and self._filled == 0
        self._phase = Phase.IDLE if lasts else Phase.CLOSED
        if len(self._view) > HEAD_BYTES_MAX:
            self._view = memoryview(bytearray(HEAD_BYTES_MAX))

    def _widen(self) -> None:
        wide = memoryview(bytearray(BLOCK_BYTES))
        wide[: self._filled] = self._view[: self._filled]
        self._view = wide

    def _pour(self) -> None:
        body = self._body
        if body is None:  # it failed, and the rest is of no interest
            self.close()
            return
        try:
            self._keep(body.take(self._view[: self._filled]) if self._filled else 0)
        except Exception as error:  # noqa: BLE001 — whoever waits is told
            self._settle(error)
            return
        if body.is_over:
            self._settle(None)

    def _tick(self, body: Body, watch: Watch) -> None:
        """See that bytes keep coming, and that they are still wanted."""
        if self._body is not body:
            return
        try:
            watch.see(body.got)
        except Exception as error:  # noqa: BLE001 — whoever waits is told
            self._settle(error)
            return
        watch.begin(self._tick, body)

    def pause(self) -> None:
        """Take in nothing for a while."""
        if self._transport is not None and self._transport.is_reading():
            self._transport.pause_reading()

    def go_on(self) -> None:
        """Take in more."""
        if self._transport is not None and not self._transport.is_closing() and not self._transport.is_reading():
            self._transport.resume_reading()

    def close(self) -> None:
        """End the connection."""
        self._phase = Phase.CLOSED
        if self._transport is not None:
            self._transport.abort()


class Watch:
    """Sees that bytes keep coming: a stream that only trickles is as good as stalled.

    `call` is called meanwhile; it tells whether the waiting is our own.
    """

    def __init__(self, seconds: float, least: int, call: Callable[[], bool]) -> None:
        self._seconds = seconds
        self._least = least
        self._call = call
        self._loop = asyncio.get_running_loop()
        self._since = self._loop.time()
        self._got = 0
        self._next: asyncio.TimerHandle | None = None

    def begin(self, tick: Callable[[Any, Watch], None], body: Any) -> None:
        """Have a look in a while."""
        self._next = self._loop.call_later(min(TICK_SECONDS, self._seconds / 4), tick, body, self)

    def see(self, got: int) -> None:
        """Look at how many bytes have come so far."""
        is_ours, now = self._call(), self._loop.time()
        if is_ours or got - self._got >= self._least:
            self._since, self._got = now, got
        elif now - self._since >= self._seconds:
            raise TimeoutError(f"only {got - self._got} bytes in {self._seconds:g} s")

    def cancel(self) -> None:
        """Look no more."""
        if self._next is not None:
            self._next.cancel()


class Body:
    """How much of a body has come, and whether that is all of it."""

    def __init__(self, answer: Answer, sink: Sink) -> None:
        self._sink = sink
        self._chunks = Chunks() if answer.is_chunked else None
        self.left = None if self._chunks else answer.length
        self.ends_by_closing = self._chunks is None and self.left is None
        self.got = 0

    @property
    def is_over(self) -> bool:
        """Whether everything is there; where the end of the connection tells, nobody knows before."""
        return self._chunks.is_over if self._chunks else self.left == 0

    def take(self, view: memoryview) -> int:
        """Take in bytes; return how many were used up."""
        if self._chunks:
            return self._take_chunks(view, self._chunks)
        mine = view if self.left is None else view[: self.left]
        self._give(mine)
        if self.left is not None:
            self.left -= len(mine)
        return len(mine)

    def _take_chunks(self, view: memoryview, chunks: Chunks) -> int:
        at = 0
        while at < len(view) and not chunks.is_over:
            size = min(chunks.left, len(view) - at)
            if size:
                self._give(view[at : at + size])
                chunks.left -= size
                at += size
            else:
                used = chunks.read_line(bytes(view[at : at + LINE_BYTES_MAX]))
                if not used:
                    break
                at += used
        return at

    def _give(self, mine: memoryview) -> None:
        if mine:
            self.got += len(mine)
            self._sink(mine)


class Chunks:
    """What stands between the chunks of a body: their lengths, and lines after the last that nobody needs."""

    def __init__(self) -> None:
        self.left = 0
        self.is_over = False
        self._is_trailing = False
        self._is_after = False  # a chunk, whose end is an empty line

    def read_line(self, text: bytes) -> int:
        """Read one line; return its length, 0 if it is not all there."""
        line, end, _ = text.partition(b"\n")
        if not end:
            if len(text) >= LINE_BYTES_MAX:
                raise Transient("a line between two chunks is too long", error_class="SCHEMA_INVALID")
            return 0
        self._read(line.strip())
        return len(line) + 1

    def _read(self, line: bytes) -> None:
        if self._is_trailing:
            self.is_over = not line
            return
        size = b"" if self._is_after else line.partition(b";")[0].strip()
        if self._is_after and not line:
            self._is_after = False
            return
        if not _hex.fullmatch(size):
            raise Transient("the length of a chunk cannot be read", error_class="NETWORK_RESET")
        self.left = int(size, 16)
        self._is_trailing = self.left == 0
        self._is_after = self.left > 0


def _check_framing(headers: Mapping[str, str]) -> None:
    """Refuse an answer that does not say plainly where its body ends: half of one could pass for all of it."""
    coding, length = headers.get("transfer-encoding"), headers.get("content-length")
    if coding is not None and (coding.lower() != "chunked" or length is not None):
        raise Permanent(
            f"the body is sent as '{coding[:80]}', with a length or twice over", error_class="SCHEMA_INVALID"
        )
    if length is not None and not (length.isascii() and length.isdecimal() and len(length) < LENGTH_DIGITS_MAX):
        raise Permanent(f"the length of the body is '{length[:80]}'", error_class="SCHEMA_INVALID")


def parse_head(text: bytes) -> Answer:
    """Read the head of an answer."""
    first, *lines = text.split(b"\n")
    found = _status.match(first.strip())
    if found is None:
        raise InvalidResponse("what came is no answer of HTTP/1.1")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.decode("latin-1").partition(":")
        key, said = name.strip().lower(), value.strip()
        if colon and key:
            headers[key] = f"{headers[key]}, {said}" if key in headers else said
    _check_framing(headers)
    wish = headers.get("connection", "").lower()
    is_lasting = "close" not in wish if found[1] == b"1.1" else "keep-alive" in wish
    return Answer(int(found[2]), headers, is_lasting)
