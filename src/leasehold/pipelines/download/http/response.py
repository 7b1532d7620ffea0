"""One HTTP/1.1 response, parsed while it arrives by llhttp, the C parser of Node.js (package httptools)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from leasehold.errors import Permanent, Transient

HEAD_BYTES_MAX: Final = 64 * 1024
FINAL_STATUSES: Final = range(200, 600)
Sink = Callable[[memoryview], None]


class InvalidResponse(ConnectionResetError):
    """Not an HTTP/1.1 response; on a connection that was used before it may be the rest of the previous response."""


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """The head of a response; names of headers are in lower case."""

    status_code: int  # the name by which the engine's classifier knows it
    headers: Mapping[str, str]
    keep_alive: bool

    @property
    def is_chunked(self) -> bool:
        return "transfer-encoding" in self.headers

    @property
    def length(self) -> int | None:
        length = self.headers.get("content-length")
        return int(length) if length is not None and not self.is_chunked else None


class UnexpectedStatus(Exception):
    """A response that brings no file; the engine classifies it by its status and waits as its Retry-After asks."""

    def __init__(self, response: ResponseHead, sender: str) -> None:
        super().__init__(f"{sender} answered {response.status_code}")
        self.response = response


class ResponseReader:
    """Reads one response. Bytes of the body that come before `start_body` wait in memory."""

    def __init__(self) -> None:
        self._parser = HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(lenient_optional_cr_before_lf=True)  # as old servers end their lines
        self._headers: dict[str, str] = {}
        self._pieces: list[bytes] = []
        self._unread = 0  # bytes since a head or a piece of the body was complete
        self._left: int | None = None
        self._sink: Sink | None = None
        self.head: ResponseHead | None = None
        self.received = 0
        self.is_complete = False
        self.has_surplus = False

    @property
    def ends_by_closing(self) -> bool:
        return self._sink is not None and self.head is not None and not self.head.is_chunked and self._left is None

    @property
    def is_untouched(self) -> bool:
        return not self._pieces and not self.has_surplus

    def feed(self, view: memoryview) -> None:
        if self._sink is None or (self.head is not None and self.head.is_chunked):
            self._parse(view)
            self._drain()
        else:
            body = view if self._left is None else view[: self._left]
            self.has_surplus = self.has_surplus or len(body) < len(view)
            self._deliver(body)

    def start_body(self, sink: Sink) -> None:
        """Give the body to a sink from now on, first what has already come."""
        assert self.head is not None
        self._sink, self._left = sink, self.head.length
        self._drain()

    def _drain(self) -> None:
        if self._sink is not None:
            pieces, self._pieces = self._pieces, []
            for piece in pieces:
                self._deliver(memoryview(piece))

    def _deliver(self, body: memoryview) -> None:
        if body and self._sink is not None:
            self.received += len(body)
            self._sink(body)
        if self._left is not None:
            self._left -= len(body)
            self.is_complete = self._left == 0

    def _parse(self, view: memoryview) -> None:
        had_head = self.head is not None
        self._unread += len(view)
        try:
            self._parser.feed_data(view)
        except (HttpParserError, HttpParserUpgrade) as error:
            if not self.is_complete:
                raise self._invalid(str(error)) from None
            self.has_surplus = True
        if self._pieces or (self.head is not None and not had_head):
            self._unread = 0
        if self.head is not None and not had_head:
            _check_framing(self.head)
        if self._unread >= HEAD_BYTES_MAX and not self.is_complete:
            kind = Transient if had_head else Permanent
            raise kind("the head or a chunk header of the response is too long", error_class="SCHEMA_INVALID")

    def _invalid(self, reason: str) -> Exception:
        if self.head is not None:
            return Transient(f"invalid chunk in an HTTP response: {reason}", error_class="NETWORK_RESET")
        if self._parser.get_status_code() in FINAL_STATUSES:
            return Permanent(f"invalid HTTP response: {reason}", error_class="SCHEMA_INVALID")
        return InvalidResponse(f"invalid HTTP response: {reason}")

    # What follows is called by the parser.

    def on_message_begin(self) -> None:
        self.has_surplus = self.is_complete

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.head is None:  # trailers after the last chunk are of no use
            key, text = name.decode("latin-1").lower(), value.decode("latin-1").strip()
            self._headers[key] = f"{self._headers[key]}, {text}" if key in self._headers else text

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if self.head is None and status >= FINAL_STATUSES.start:
            connection = self._headers.get("connection", "").lower()
            is_current = self._parser.get_http_version() == "1.1"
            keep_alive = "close" not in connection if is_current else "keep-alive" in connection
            self.head = ResponseHead(status, self._headers, keep_alive)

    def on_body(self, piece: bytes) -> None:
        if not self.has_surplus:
            self._pieces.append(piece)

    def on_message_complete(self) -> None:
        self.is_complete = self.head is not None
        if self.head is None:  # 100 Continue, 103 Early Hints
            self._headers = {}


def _check_framing(head: ResponseHead) -> None:
    """Refuse a response that does not state clearly where its body ends: half of it could pass for all of it."""
    if head.status_code not in FINAL_STATUSES:
        raise InvalidResponse(f"invalid HTTP response: status {head.status_code}")
    coding = head.headers.get("transfer-encoding", "chunked")
    if coding.lower() != "chunked":
        raise Permanent(f"unsupported transfer encoding '{coding[:80]}'", error_class="SCHEMA_INVALID")
