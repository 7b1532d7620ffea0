"""HTTP as a download needs it: HEAD, and GET from a byte on; redirects followed by hand, connections used again.

What a careless client would let pass is refused here: a body shorter than it was said to be, a part that does not
begin where it was asked to, an encoding nobody asked for.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final
from urllib.parse import SplitResult, urljoin
from weakref import WeakKeyDictionary

from msgspec import Struct

from leasehold.errors import Permanent, Transient
from leasehold.pipelines.download.http.connection import BODILESS, Answer, Connection, ConnectionClosed, Sink, Watch
from leasehold.pipelines.download.http.urls import PORTS, UrlRefused, canonical_url, parts_of

REDIRECTS_MAX: Final = 10
IDLE_MAX: Final = 64
TRICKLE_BYTES: Final = 1_024
AGENT: Final = "leasehold-download"
MOVED: Final = frozenset({301, 302, 303, 307, 308})
REFUSES_HEAD: Final = frozenset({400, 403, 404, 405, 406, 409, 500, 501, 503})
OK, PARTIAL, UNSATISFIABLE, FAILED = 200, 206, 416, 400


class Answered(Exception):
    """A server's answer that is no file; the engine classes it by its status and heeds its Retry-After."""

    def __init__(self, status: int, headers: Mapping[str, str], url: str) -> None:
        super().__init__(f"{url} answered {status}")
        self.response = _Response(status, dict(headers))


@dataclass(frozen=True, slots=True)
class _Response:
    status_code: int
    headers: dict[str, str]


@dataclass(frozen=True, slots=True)
class Options:
    """How servers are asked. `headers` go to the manifest's host alone; `timeout`: to connect, and between bytes."""

    timeout: float = 60.0
    bytes_max: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


class Head(Struct, frozen=True):
    """What a server says of a file. `etag` is a strong one, or None."""

    url: str
    status: int
    length: int | None
    etag: str | None
    modified: str | None
    media_type: str | None
    takes_ranges: bool
    filename: str | None = None

    @property
    def validator(self) -> str | None:
        """What tells whether the file is still the same, as `If-Range` wants it."""
        return self.etag or self.modified


Idle = dict[tuple[str, str], list[Connection]]


class Pool:
    """Connections that are open and idle, by host; each loop has its own."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._idle: WeakKeyDictionary[asyncio.AbstractEventLoop, Idle] = WeakKeyDictionary()
        self._keepers: list[asyncio.Task[None]] = []

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context()

    async def take(self, parts: SplitResult) -> tuple[Connection, bool]:
        """Return a connection, and whether it was used before."""
        idle = self._here().get((parts.scheme, parts.netloc), [])
        while idle:
            wire = idle.pop()
            if wire.is_idle:
                return wire, True
        return await self._connect(parts), False

    async def _connect(self, parts: SplitResult) -> Connection:
        tls = self._tls if parts.scheme == "https" else None
        port = parts.port or PORTS[parts.scheme]
        async with asyncio.timeout(self._timeout):
            _, wire = await asyncio.get_running_loop().create_connection(
                Connection, parts.hostname or "", port, ssl=tls
            )
        return wire

    def give(self, parts: SplitResult, wire: Connection) -> None:
        """Take back a connection whose answer was read to its end."""
        idle = self._here().setdefault((parts.scheme, parts.netloc), [])
        if wire.is_idle and len(idle) < IDLE_MAX:
            idle.append(wire)
        else:
            wire.close()

    def _here(self) -> Idle:
        loop = asyncio.get_running_loop()
        known = self._idle.get(loop)
        if known is None:
            known = self._idle[loop] = {}
            self._keepers.append(loop.create_task(_keep(known)))
        return known

    def close(self) -> None:
        """Close every idle connection, each on its loop."""
        for keeper in self._keepers:
            if not keeper.get_loop().is_closed():
                keeper.get_loop().call_soon_threadsafe(keeper.cancel)


async def _keep(idle: Idle) -> None:
    """Close the connections of a loop when it ends."""
    try:
        await asyncio.get_running_loop().create_future()
    finally:
        for wire in [wire for many in idle.values() for wire in many]:
            wire.close()
        idle.clear()
        await asyncio.sleep(0)  # a transport is closed by its loop, one step later


class Body:
    """The bytes of an answer, from `start` on. To be closed; read to its end, its connection is used again."""

    def __init__(self, head: Head, start: int, exchange: Exchange) -> None:
        self.head = head
        self.start = start
        self._exchange = exchange

    async def copy_in(self, sink: Sink, tick: Callable[[], bool]) -> None:
        """Give the bytes to a sink as they come; raises where fewer come than were said. `tick`: called meanwhile."""
        got = 0
        most, url = self._exchange.options.bytes_max, self.head.url

        def take(view: memoryview) -> None:
            nonlocal got
            got += len(view)
            _check_size(self.start + got, most, url)
            sink(view)

        expected = self.head.length - self.start if self.head.length is not None else None
        try:
            await self._exchange.receive(take, tick)
        except (ConnectionClosed, ConnectionResetError):
            if expected is None:
                said = f"{url} broke off after {got:,} bytes"
                raise Transient(said, error_class="NETWORK_RESET") from None
        if expected is not None and got != expected:
            raise Transient(f"{url} ended after {got:,} of {expected:,} bytes", error_class="NETWORK_RESET")

    def pause(self) -> None:
        """Take in nothing for a while."""
        self._exchange.wire.pause()

    def go_on(self) -> None:
        """Take in more."""
        self._exchange.wire.go_on()

    def close(self) -> None:
        """End the exchange."""
        self._exchange.end()


class Exchange:
    """One question and its answer on one connection."""

    def __init__(self, pool: Pool, options: Options, parts: SplitResult, wire: Connection, answer: Answer) -> None:
        self._pool = pool
        self._parts = parts
        self.options = options
        self.wire = wire
        self.answer = answer

    async def receive(self, sink: Sink, tick: Callable[[], bool]) -> None:
        """Read the body."""
        await self.wire.receive(self.answer, sink, Watch(self.options.timeout, TRICKLE_BYTES, tick))

    def end(self) -> None:
        """Give the connection back if its answer was read to the end, else close it."""
        self._pool.give(self._parts, self.wire)


class Client:
    """Asks servers, many at once."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self._pool = Pool(options.timeout)

    async def head(self, url: str) -> Head:
        """Ask what a file is like; by the first byte of it where a server refuses HEAD."""
        exchange, at = await self._follow("HEAD", url, {})
        exchange.end()
        if exchange.answer.status in REFUSES_HEAD:
            return await self._first_byte(url)
        return self._checked(_head(exchange.answer, at), exchange.answer)

    async def _first_byte(self, url: str) -> Head:
        exchange, at = await self._follow("GET", url, {"Range": "bytes=0-0"})
        if exchange.answer.status == UNSATISFIABLE:  # an empty file has no first byte
            exchange.end()
            exchange, at = await self._follow("GET", url, {})
        try:
            if exchange.answer.status == PARTIAL and exchange.answer.length == 1:  # a server may send all the rest
                await exchange.receive(_ignore, _nothing)
            return self._checked(_head(exchange.answer, at), exchange.answer)
        finally:
            exchange.end()

    async def open(self, url: str, start: int = 0, validator: str | None = None) -> Body:
        """Ask for a file, from byte `start` on if it still has this validator; the answer says where it begins."""
        wanted = {"Range": f"bytes={start}-", "If-Range": validator} if start and validator else {}
        exchange, at = await self._follow("GET", url, wanted)
        try:
            answer = exchange.answer
            head = self._checked(_head(answer, at), answer)
            begins = _begin(answer, start if wanted else None) if answer.status == PARTIAL else 0
            return Body(head, begins, exchange)
        except BaseException:
            exchange.end()
            raise

    def _checked(self, head: Head, answer: Answer) -> Head:
        if head.status not in (OK, PARTIAL):
            raise Answered(head.status, answer.headers, head.url)
        encoding = answer.headers.get("content-encoding", "identity").strip().lower()
        if encoding != "identity":
            raise Permanent(
                f"{head.url} is sent as '{encoding}', though only identity was asked for", error_class="SCHEMA_INVALID"
            )
        _check_size(head.length or 0, self.options.bytes_max, head.url)
        return head

    async def _follow(self, method: str, url: str, wanted: Mapping[str, str]) -> tuple[Exchange, str]:
        """Ask, and ask again where the answer points to; headers of the caller's own go to the first host alone."""
        at = url
        for _ in range(REDIRECTS_MAX + 1):
            exchange = await self._ask(method, at, self._lines_for(url, at, wanted))
            location = exchange.answer.headers.get("location")
            if exchange.answer.status not in MOVED or location is None:
                return exchange, at
            exchange.end()
            at = _target(at, location)
        raise Permanent(f"{url} leads on more than {REDIRECTS_MAX} times", error_class="NOT_FOUND")

    async def _ask(self, method: str, url: str, lines: str) -> Exchange:
        """Ask; a connection that the other side had closed meanwhile is replaced by a new one, once."""
        parts = parts_of(url)
        words = _words(method, parts, lines)
        while True:
            wire, was_used = await self._pool.take(parts)
            try:
                answer = await wire.ask(words, self.options.timeout)
            except (BrokenPipeError, ConnectionResetError):
                wire.close()
                if not was_used:
                    raise
            except BaseException:
                wire.close()
                raise
            else:
                if method == "HEAD" or answer.status in BODILESS:
                    wire.be_done(answer)
                return Exchange(self._pool, self.options, parts, wire, answer)

    def _lines_for(self, first: str, at: str, wanted: Mapping[str, str]) -> str:
        is_first = first == at or _origin(first) == _origin(at)
        if wanted:
            return _lines({**USUAL, **(self.options.headers if is_first else {}), **wanted})
        return self._own_lines if is_first else USUAL_LINES

    @cached_property
    def _own_lines(self) -> str:
        return _lines({**USUAL, **self.options.headers})

    def close(self) -> None:
        """Close idle connections."""
        self._pool.close()


def _nothing() -> bool:
    return False


def _ignore(_: memoryview) -> None:
    pass


def _words(method: str, parts: SplitResult, lines: str) -> bytes:
    path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    _check_line(path)
    _check_line(parts.netloc)
    return f"{method} {path} HTTP/1.1\r\nHost: {parts.netloc}\r\n{lines}\r\n".encode("latin-1")


def _lines(headers: Mapping[str, str]) -> str:
    for name in headers:
        _check_line(name)
        _check_line(headers[name])
    return "".join(f"{name}: {headers[name]}\r\n" for name in headers)


def _check_line(text: str) -> None:
    if "\r" in text or "\n" in text:
        raise Permanent("an address or a header has a line break in it", error_class="SCHEMA_INVALID")


USUAL: Final = {"User-Agent": AGENT, "Accept": "*/*", "Accept-Encoding": "identity"}
USUAL_LINES: Final = _lines(USUAL)


def _origin(url: str) -> tuple[str, str]:
    parts = parts_of(url)
    return parts.scheme, parts.netloc


def _target(at: str, location: str) -> str:
    """Return where an answer leads. Servers that do not escape what is not ASCII send it as UTF-8."""
    with suppress(UnicodeError):
        location = location.encode("latin-1").decode("utf-8")
    try:
        return canonical_url(urljoin(at, location))
    except UrlRefused as error:
        raise Permanent(f"{at} leads to what cannot be fetched: {error}", error_class="NOT_FOUND") from None


def _head(answer: Answer, url: str) -> Head:
    told = answer.headers.get
    etag = told("etag")
    return Head(
        url=url,
        status=answer.status,
        length=_length(answer),
        etag=etag if etag and etag.startswith('"') else None,
        modified=told("last-modified"),
        media_type=(told("content-type") or "").partition(";")[0].strip().lower() or None,
        takes_ranges=answer.status == PARTIAL or (told("accept-ranges") or "").strip().lower() == "bytes",
        filename=_filename(told("content-disposition")),
    )


def _length(answer: Answer) -> int | None:
    """Return the length of the whole file, where it is told."""
    if answer.status == PARTIAL:
        total = answer.headers.get("content-range", "").rpartition("/")[2].strip()
        return int(total) if total.isascii() and total.isdecimal() else None
    return answer.length


def _begin(answer: Answer, start: int | None) -> int:
    """Return where a part begins; one that was not asked for is of no use."""
    if start is None:
        raise Transient("a part came that nobody has asked for", error_class="CONFLICT")
    unit, _, rest = answer.headers.get("content-range", "").strip().partition(" ")
    first = rest.partition("-")[0].strip()
    if unit.lower() != "bytes" or first != str(start):
        raise Transient(f"a part from byte {start:,} was asked for and '{unit} {rest}' came", error_class="CONFLICT")
    return start


def _filename(disposition: str | None) -> str | None:
    if not disposition:
        return None
    from email.message import Message

    message = Message()
    message["Content-Disposition"] = disposition
    found = message.get_filename()
    return found if isinstance(found, str) and found else None


def _check_size(size: int, most: int | None, url: str) -> None:
    if most is not None and size > most:
        raise Permanent(f"{url} has more than the {most:,} bytes that are allowed", error_class="POLICY_REJECTED")
