"""HTTP as a download needs it: HEAD, and GET from a byte on; redirects followed by hand, connections used again.

The standard library speaks the protocol. What it would let pass is refused here: a body shorter than it was said to be,
a part that does not begin where it was asked to, an encoding nobody asked for.
"""

from __future__ import annotations

import http.client
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult, urljoin, urlsplit

from leasehold.errors import Permanent, Transient
from leasehold.pipelines.download.urls import UrlRefused, canonical_url

REDIRECTS_MAX: Final = 10
IDLE_MAX: Final = 8
BLOCK_BYTES: Final = 256 * 1024
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


@dataclass(frozen=True, slots=True)
class Head:
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


class Pool:
    """Connections that are open and idle, by host. Used by many threads."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._lock = threading.Lock()
        self._idle: dict[tuple[str, str], list[http.client.HTTPConnection]] = {}
        self._tls = ssl.create_default_context()

    def take(self, parts: SplitResult) -> tuple[http.client.HTTPConnection, bool]:
        """Return a connection, and whether it was used before."""
        with self._lock:
            idle = self._idle.get((parts.scheme, parts.netloc))
            if idle:
                return idle.pop(), True
        if parts.scheme == "https":
            return http.client.HTTPSConnection(parts.netloc, timeout=self._timeout, context=self._tls), False
        return http.client.HTTPConnection(parts.netloc, timeout=self._timeout), False

    def give(self, parts: SplitResult, connection: http.client.HTTPConnection) -> None:
        """Take back a connection whose answer was read to its end."""
        with self._lock:
            idle = self._idle.setdefault((parts.scheme, parts.netloc), [])
            if connection.sock is not None and len(idle) < IDLE_MAX:
                idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Close every idle connection."""
        with self._lock:
            idle, self._idle = self._idle, {}
        for connection in (one for many in idle.values() for one in many):
            connection.close()


class Body:
    """The bytes of an answer, from `start` on. To be closed; read to its end, its connection is used again."""

    def __init__(self, head: Head, start: int, answer: http.client.HTTPResponse, exchange: Exchange) -> None:
        self.head = head
        self.start = start
        self._answer = answer
        self._exchange = exchange

    @property
    def tells_its_end(self) -> bool:
        """Whether a body that was cut off can be told from a whole one by itself."""
        return self.head.length is not None or bool(self._answer.chunked)

    def blocks(self) -> Iterator[bytes]:
        """Yield the bytes as they come, none held back; raises where fewer come than were said."""
        got, watch = 0, _Watch(self._exchange.options.timeout)
        expected = self.head.length - self.start if self.head.length is not None else None
        while block := self._more(got, expected):
            got += len(block)
            _check_size(self.start + got, self._exchange.options.bytes_max, self.head.url)
            watch.see(len(block))
            yield block
        if expected is not None and got != expected:
            raise Transient(f"{self.head.url} ended after {got:,} of {expected:,} bytes", error_class="NETWORK_RESET")
        self._answer.close()
        self._exchange.is_whole = not self._answer.will_close

    def _more(self, got: int, expected: int | None) -> bytes:
        """Return what has come; the library itself would not know the end of a body that is read so."""
        most = BLOCK_BYTES if expected is None or self._answer.chunked else min(BLOCK_BYTES, expected - got)
        try:
            return self._answer.read1(most) if most else b""
        except http.client.HTTPException as error:
            said = f"{self.head.url} broke off after {got:,} bytes ({type(error).__name__})"
            raise Transient(said, error_class="NETWORK_RESET") from None

    def close(self) -> None:
        """End the exchange."""
        self._exchange.end()


class _Watch:
    """Sees that bytes keep coming: a stream that only trickles is as good as stalled."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._since = time.monotonic()
        self._bytes = 0

    def see(self, size: int) -> None:
        self._bytes += size
        now = time.monotonic()
        if now - self._since >= self._seconds:
            if self._bytes < TRICKLE_BYTES:
                raise TimeoutError(f"only {self._bytes} bytes in {self._seconds:g} s")
            self._since, self._bytes = now, 0


class Exchange:
    """One question and its answer on one connection."""

    def __init__(self, pool: Pool, options: Options) -> None:
        self._pool = pool
        self.options = options
        self._parts: SplitResult | None = None
        self._connection: http.client.HTTPConnection | None = None
        self.is_whole = False

    def ask(self, method: str, url: str, headers: Mapping[str, str]) -> http.client.HTTPResponse:
        """Ask; a connection that the other side had closed meanwhile is replaced by a new one, once."""
        parts = self._parts = urlsplit(url)
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        while True:
            self._connection, was_used = self._pool.take(parts)
            try:
                self._connection.request(method, path or "/", headers=dict(headers))
                return self._connection.getresponse()
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                self.end()
                if not was_used:
                    raise
            except BaseException:
                self.end()
                raise

    def end(self) -> None:
        """Give the connection back if its answer was read to the end, else close it."""
        connection, self._connection = self._connection, None
        if connection is None or self._parts is None:
            return
        if self.is_whole:
            self._pool.give(self._parts, connection)
        else:
            with suppress(OSError):
                connection.close()


class Client:
    """Asks servers, from many threads at once."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self._pool = Pool(options.timeout)

    def head(self, url: str) -> Head:
        """Ask what a file is like; by the first byte of it where a server refuses HEAD."""
        exchange, answer, at = self._follow("HEAD", url, {})
        answer.read()
        exchange.is_whole = True
        exchange.end()
        if answer.status in REFUSES_HEAD:
            return self._first_byte(url)
        return self._checked(_head(answer, at), answer)

    def _first_byte(self, url: str) -> Head:
        exchange, answer, at = self._follow("GET", url, {"Range": "bytes=0-0"})
        if answer.status == UNSATISFIABLE:  # an empty file has no first byte
            exchange.end()
            exchange, answer, at = self._follow("GET", url, {})
        try:
            head = _head(answer, at)
            if answer.status == PARTIAL and answer.length == 1:  # a server may send all the rest with it
                answer.read()
                exchange.is_whole = True
            return self._checked(head, answer)
        finally:
            exchange.end()

    def open(self, url: str, start: int = 0, validator: str | None = None) -> Body:
        """Ask for a file, from byte `start` on if it still has this validator; the answer says where it begins."""
        wanted = {"Range": f"bytes={start}-", "If-Range": validator} if start and validator else {}
        exchange, answer, at = self._follow("GET", url, wanted)
        try:
            head = self._checked(_head(answer, at), answer)
            begins = _begin(answer, start) if answer.status == PARTIAL else 0
            return Body(head, begins, answer, exchange)
        except BaseException:
            exchange.end()
            raise

    def _checked(self, head: Head, answer: http.client.HTTPResponse) -> Head:
        if head.status not in (OK, PARTIAL):
            raise Answered(head.status, _lower(answer), head.url)
        encoding = (answer.getheader("Content-Encoding") or "identity").strip().lower()
        if encoding != "identity":
            raise Permanent(
                f"{head.url} is sent as '{encoding}', though only identity was asked for", error_class="SCHEMA_INVALID"
            )
        _check_size(head.length or 0, self.options.bytes_max, head.url)
        return head

    def _follow(
        self, method: str, url: str, wanted: Mapping[str, str]
    ) -> tuple[Exchange, http.client.HTTPResponse, str]:
        """Ask, and ask again where the answer points to; headers of the caller's own go to the first host alone."""
        at = url
        for _ in range(REDIRECTS_MAX + 1):
            exchange = Exchange(self._pool, self.options)
            answer = exchange.ask(method, at, self._headers(url, at) | dict(wanted))
            location = answer.getheader("Location")
            if answer.status not in MOVED or location is None:
                return exchange, answer, at
            exchange.end()
            at = _target(at, location)
        raise Permanent(f"{url} leads on more than {REDIRECTS_MAX} times", error_class="NOT_FOUND")

    def _headers(self, first: str, at: str) -> dict[str, str]:
        own = self.options.headers if _origin(first) == _origin(at) else {}
        return {"User-Agent": AGENT, "Accept": "*/*", "Accept-Encoding": "identity", **own}

    def close(self) -> None:
        """Close idle connections."""
        self._pool.close()


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc


def _target(at: str, location: str) -> str:
    try:
        return canonical_url(urljoin(at, location))
    except UrlRefused as error:
        raise Permanent(f"{at} leads to what cannot be fetched: {error}", error_class="NOT_FOUND") from None


def _head(answer: http.client.HTTPResponse, url: str) -> Head:
    etag = answer.getheader("ETag")
    return Head(
        url=url,
        status=answer.status,
        length=_length(answer),
        etag=etag if etag and etag.startswith('"') else None,
        modified=answer.getheader("Last-Modified"),
        media_type=(answer.getheader("Content-Type") or "").partition(";")[0].strip().lower() or None,
        takes_ranges=answer.status == PARTIAL or (answer.getheader("Accept-Ranges") or "").strip().lower() == "bytes",
        filename=_filename(answer.getheader("Content-Disposition")),
    )


def _length(answer: http.client.HTTPResponse) -> int | None:
    """Return the length of the whole file, where it is told."""
    if answer.status == PARTIAL:
        total = (answer.getheader("Content-Range") or "").rpartition("/")[2].strip()
        return int(total) if total.isascii() and total.isdecimal() else None
    told = (answer.getheader("Content-Length") or "").strip()
    return int(told) if told.isascii() and told.isdecimal() else None


def _begin(answer: http.client.HTTPResponse, start: int) -> int:
    """Return where a part begins; one that was not asked for is of no use."""
    unit, _, rest = (answer.getheader("Content-Range") or "").strip().partition(" ")
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


def _lower(answer: http.client.HTTPResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in answer.getheaders()}
