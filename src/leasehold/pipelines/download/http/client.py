"""HTTP as downloads need it: HEAD, and GET from a byte on, with redirects and connections that are used again.

Refused here: a body shorter than announced, a range that begins elsewhere than requested, an encoding that was not
accepted.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final
from urllib.parse import SplitResult, urljoin

from msgspec import Struct

from leasehold.errors import Permanent, Transient
from leasehold.pipelines.download.http.connection import Connection, StallWatch
from leasehold.pipelines.download.http.pool import HttpConnectionPool
from leasehold.pipelines.download.http.response import ResponseHead, Sink, UnexpectedStatus
from leasehold.pipelines.download.http.urls import UrlRefused, canonical_url, parts_of

REDIRECTS_MAX: Final = 10
TRICKLE_BYTES: Final = 1_024
AGENT: Final = "leasehold-download"
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
REFUSES_HEAD: Final = frozenset({400, 403, 404, 405, 406, 409, 500, 501, 503})
OK, PARTIAL, UNSATISFIABLE, FAILED = 200, 206, 416, 400


@dataclass(frozen=True, slots=True)
class Options:
    """How requests are sent. `headers` go to the manifest's host alone; `timeout`: to connect, and between bytes."""

    timeout: float = 60.0
    bytes_max: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


class Head(Struct, frozen=True):
    """What a server states about a file. `etag` is a strong one, or None."""

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
        """The value of `If-Range` for a request that resumes the file."""
        return self.etag or self.modified


@dataclass(slots=True)
class Exchange:
    """One request and its response on one connection. `url`: where redirects have led."""

    pool: HttpConnectionPool
    url: str
    connection: Connection
    response: ResponseHead

    def close(self) -> None:
        """Give the connection back if its response was read to the end, else close it."""
        self.pool.release(parts_of(self.url), self.connection)


class Body:
    """The bytes of a file, from `start` on. To be closed; read to its end, its connection is used again."""

    def __init__(self, head: Head, start: int, exchange: Exchange, options: Options) -> None:
        self.head = head
        self.start = start
        self.pause = exchange.connection.pause
        self.resume = exchange.connection.resume
        self.close = exchange.close
        self._connection = exchange.connection
        self._options = options

    async def copy_in(self, sink: Sink, on_check: Callable[[], bool]) -> None:
        """Give the bytes to a sink; raises where fewer come than were announced. For `on_check` see `StallWatch`."""
        received = 0
        bytes_max, url = self._options.bytes_max, self.head.url

        def count(view: memoryview) -> None:
            nonlocal received
            received += len(view)
            _check_size(self.start + received, bytes_max, url)
            sink(view)

        expected = self.head.length - self.start if self.head.length is not None else None
        try:
            await self._connection.receive(count, StallWatch(self._options.timeout, TRICKLE_BYTES, on_check))
        except ConnectionResetError:
            if expected is None:
                message = f"{url} closed the connection after {received:,} bytes"
                raise Transient(message, error_class="NETWORK_RESET") from None
        if expected is not None and received != expected:
            raise Transient(f"{url} ended after {received:,} of {expected:,} bytes", error_class="NETWORK_RESET")


class Client:
    def __init__(self, options: Options) -> None:
        self.options = options
        self._pool = HttpConnectionPool(options.timeout)

    async def head(self, url: str) -> Head:
        """Ask what a file is like; by the first byte of it where a server refuses HEAD."""
        exchange = await self._follow("HEAD", url, {})
        exchange.close()
        if exchange.response.status_code in REFUSES_HEAD:
            return await self._first_byte(url)
        return self._checked(exchange)

    async def _first_byte(self, url: str) -> Head:
        exchange = await self._follow("GET", url, {"Range": "bytes=0-0"})
        if exchange.response.status_code == UNSATISFIABLE:  # an empty file has no first byte
            exchange.close()
            exchange = await self._follow("GET", url, {})
        try:
            head = self._checked(exchange)
            if exchange.response.status_code == PARTIAL and exchange.response.length == 1:  # it may send all the rest
                watch = StallWatch(self.options.timeout, TRICKLE_BYTES, lambda: False)
                await exchange.connection.receive(lambda _: None, watch)
            return head
        finally:
            exchange.close()

    async def open(self, url: str, start: int = 0, validator: str | None = None) -> Body:
        """Request a file, from byte `start` on if it still has this validator; `Body.start` is where it begins."""
        wanted = {"Range": f"bytes={start}-", "If-Range": validator} if start and validator else {}
        exchange = await self._follow("GET", url, wanted)
        try:
            head = self._checked(exchange)
            is_partial = exchange.response.status_code == PARTIAL
            begins = _range_start(exchange.response, start if wanted else None) if is_partial else 0
            return Body(head, begins, exchange, self.options)
        except BaseException:
            exchange.close()
            raise

    def _checked(self, exchange: Exchange) -> Head:
        response, url = exchange.response, exchange.url
        if response.status_code not in (OK, PARTIAL):
            raise UnexpectedStatus(response, url)
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding != "identity":
            raise Permanent(
                f"{url} is sent as '{encoding}', though only identity was accepted", error_class="SCHEMA_INVALID"
            )
        head = _head(response, url)
        _check_size(head.length or 0, self.options.bytes_max, url)
        return head

    async def _follow(self, method: str, url: str, wanted: Mapping[str, str]) -> Exchange:
        """Send a request and follow redirects; headers of the caller's own go to the first host alone."""
        target = url
        for _ in range(REDIRECTS_MAX + 1):
            exchange = await self._send(method, target, self._lines_for(url, target, wanted))
            location = exchange.response.headers.get("location")
            if exchange.response.status_code not in REDIRECTS or location is None:
                return exchange
            exchange.close()
            target = _redirected(target, location)
        raise Permanent(f"too many redirects from {url}: more than {REDIRECTS_MAX}", error_class="NOT_FOUND")

    async def _send(self, method: str, url: str, lines: str) -> Exchange:
        """Send a request; an idle connection that the server has closed meanwhile is replaced by a new one."""
        parts = parts_of(url)
        raw = self._raw(method, parts, lines)
        while True:
            connection, was_used = await self._pool.acquire(parts)
            try:
                head = await connection.request(raw, self.options.timeout, is_bodiless=method == "HEAD")
            except (BrokenPipeError, ConnectionResetError):
                connection.close()
                if not was_used:
                    raise
            except BaseException:
                connection.close()
                raise
            else:
                return Exchange(self._pool, url, connection, head)

    def _raw(self, method: str, parts: SplitResult, lines: str) -> bytes:
        path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        if parts.scheme == "http" and (proxy := self._pool.proxy(parts)) is not None:
            path, lines = f"http://{parts.netloc}{path}", f"{lines}{proxy.authorization_line}"
        _check_line(path)
        _check_line(parts.netloc)
        return f"{method} {path} HTTP/1.1\r\nHost: {parts.netloc}\r\n{lines}\r\n".encode("latin-1")

    def _lines_for(self, first: str, target: str, wanted: Mapping[str, str]) -> str:
        is_first = first == target or _origin(first) == _origin(target)
        if wanted:
            return _lines({**USUAL, **(self.options.headers if is_first else {}), **wanted})
        return self._own_lines if is_first else USUAL_LINES

    @cached_property
    def _own_lines(self) -> str:
        return _lines({**USUAL, **self.options.headers})

    def close(self) -> None:
        self._pool.close()


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


def _redirected(url: str, location: str) -> str:
    """Return where a redirect leads. Servers that do not escape what is not ASCII send it as UTF-8."""
    with suppress(UnicodeError):
        location = location.encode("latin-1").decode("utf-8")
    try:
        return canonical_url(urljoin(url, location))
    except UrlRefused as error:
        raise Permanent(f"{url} redirects to an invalid address: {error}", error_class="NOT_FOUND") from None


def _head(response: ResponseHead, url: str) -> Head:
    header = response.headers.get
    etag = header("etag")
    length, is_partial = response.length, response.status_code == PARTIAL
    if is_partial:
        total = (header("content-range") or "").rpartition("/")[2].strip()
        length = int(total) if total.isascii() and total.isdecimal() else None
    return Head(
        url=url,
        status=response.status_code,
        length=length,
        etag=etag if etag and etag.startswith('"') else None,
        modified=header("last-modified"),
        media_type=(header("content-type") or "").partition(";")[0].strip().lower() or None,
        takes_ranges=is_partial or (header("accept-ranges") or "").strip().lower() == "bytes",
        filename=_filename(header("content-disposition")),
    )


def _range_start(response: ResponseHead, start: int | None) -> int:
    """Return where a partial response begins, which must be where it was requested to."""
    if start is None:
        raise Transient("a partial response came without a range request", error_class="CONFLICT")
    unit, _, rest = response.headers.get("content-range", "").strip().partition(" ")
    first = rest.partition("-")[0].strip()
    if unit.lower() != "bytes" or first != str(start):
        raise Transient(f"bytes from {start:,} on were requested and '{unit} {rest}' came", error_class="CONFLICT")
    return start


def _filename(disposition: str | None) -> str | None:
    if not disposition:
        return None
    from email.message import Message

    message = Message()
    message["Content-Disposition"] = disposition
    found = message.get_filename()
    return found if isinstance(found, str) and found else None


def _check_size(size: int, bytes_max: int | None, url: str) -> None:
    if bytes_max is not None and size > bytes_max:
        raise Permanent(f"{url} is larger than the limit of {bytes_max:,} bytes", error_class="POLICY_REJECTED")
