"""A file server that does on purpose what servers do by accident. It keeps a log of every answer, byte by byte."""

from __future__ import annotations

import hashlib
import re
import ssl
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

BLOCK = 64 * 1024
CERTIFICATE = Path(__file__).with_name("loopback.pem")  # signed by itself, for 127.0.0.1; with its key
_range = re.compile(r"bytes=(\d+)-(\d*)\Z")


@dataclass
class Resource:
    """One file and its manners. Lists are used up, one entry a GET; then all goes well."""

    content: bytes = b""
    etag: str | None = "tag"
    modified: float | None = None
    ranges: bool = True
    head: int = 200
    statuses: list[int] = field(default_factory=list)
    retry_after: str | None = None
    cut_after: list[int] = field(default_factory=list)  # bytes of this answer before the line is cut
    stall_after: list[int] = field(default_factory=list)
    stall_head: bool = False
    crumbs: int = 0  # bytes at a time, with a pause after each
    chunked: bool = False
    repeats_headers: bool = True  # in the answer to a range, those of the whole file
    ends_by_closing: bool = False  # neither a length nor chunks
    honours_if_range: bool = True
    honours_range_end: bool = True
    lies: dict[str, str] = field(default_factory=dict)  # headers that replace the true ones
    location: str | None = None
    moved: int = 302
    headers: dict[str, str] = field(default_factory=dict)
    wanted_headers: dict[str, str] = field(default_factory=dict)  # without these: 401


@dataclass
class Line:
    """One answer: what was asked, and how many bytes of it went out, from where."""

    method: str
    path: str
    status: int
    first: int = 0
    sent: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    writing: threading.Lock = field(default_factory=threading.Lock, compare=False, repr=False)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep quiet about clients that hang up: to do that is their right."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class FileServer:
    """Serves resources by path on a port of the loopback."""

    def __init__(self, *, tls: bool = False) -> None:
        self.resources: dict[str, Resource] = {}
        self.log: list[Line] = []
        self.released = threading.Event()  # what stalls goes on
        self.stalled: list[Line] = []
        self._busy = 0
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._scheme = "https" if tls else "http"
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(CERTIFICATE)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._server.server_address[1]}"

    def add(self, path: str, content: bytes = b"", **manners: Any) -> str:
        """Serve something, and return its address."""
        tag = manners.pop("etag", hashlib.sha256(content).hexdigest()[:12])
        self.resources[path] = Resource(content, etag=tag, **manners)
        return f"{self._scheme}://{self.host}{path}"

    def gets(self, path: str) -> list[Line]:
        """Return the lines of a file. Bytes that a client has are counted; what it does not take is not waited for."""
        lines = [line for line in self.log if (line.method, line.path) == ("GET", path)]
        for line in lines:
            if line.writing.acquire(timeout=2):
                line.writing.release()
        return lines

    def enter(self) -> None:
        with self._lock:
            self._busy += 1

    @property
    def idle(self) -> bool:
        return self._busy == 0

    def leave(self) -> None:
        with self._lock:
            self._busy -= 1

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()


def _handler(server: FileServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 — its name there
            """Keep quiet."""

        def do_HEAD(self) -> None:
            self._serve(with_body=False)

        def do_GET(self) -> None:
            self._serve(with_body=True)

        def _serve(self, *, with_body: bool) -> None:
            server.enter()
            try:
                answer = _Answer(server, self, with_body=with_body)
                answer.give()
            except (ConnectionError, TimeoutError):
                self.close_connection = True
            finally:
                server.leave()

    return Handler


class _Answer:
    def __init__(self, server: FileServer, handler: BaseHTTPRequestHandler, *, with_body: bool) -> None:
        self._server = server
        self._handler = handler
        self._with_body = with_body
        self._resource = server.resources.get(handler.path)
        asked = {name.lower(): value for name, value in handler.headers.items()}
        self._line = Line(handler.command, handler.path, 0, headers=asked)

    def give(self) -> None:
        self._server.log.append(self._line)
        resource = self._resource
        if resource is None:
            self._plain(404)
        elif any(self._line.headers.get(name) != value for name, value in resource.wanted_headers.items()):
            self._plain(401)
        elif resource.location is not None:
            self._plain(resource.moved, {"Location": resource.location})
        elif not self._with_body and resource.head != 200:
            self._plain(resource.head, _patience(resource))
        elif self._with_body and resource.statuses:
            self._plain(resource.statuses.pop(0), _patience(resource))
        else:
            self._file(resource)

    def _plain(self, status: int, headers: dict[str, str] | None = None) -> None:
        self._line.status = status
        self._handler.send_response(status)
        for name, value in {"Content-Length": "0", **(headers or {})}.items():
            self._handler.send_header(name, value)
        self._handler.end_headers()

    def _file(self, resource: Resource) -> None:
        first, last, status = self._span(resource)
        size = len(resource.content)
        if status == 416:
            self._plain(416, {"Content-Range": f"bytes */{size}"})
            return
        self._line.status, self._line.first = status, first
        length = str(last + 1 - first)
        headers = {"Content-Length": length, "Content-Type": "application/octet-stream", **_tags(resource)}
        if status == 206 and not resource.repeats_headers:
            headers = {"Content-Length": length}
        if status == 206:
            headers["Content-Range"] = f"bytes {first}-{last}/{size}"
        if resource.chunked:
            headers.pop("Content-Length")
            headers["Transfer-Encoding"] = "chunked"
        if resource.ends_by_closing and self._with_body:
            headers.pop("Content-Length")
            headers["Connection"] = "close"
        if resource.stall_head:
            self._server.released.wait(600)
        self._handler.send_response(status)
        for name, value in {**headers, **resource.headers, **resource.lies}.items():
            self._handler.send_header(name, value)
        self._handler.end_headers()
        if self._with_body:
            self._body(resource, first, last)

    def _span(self, resource: Resource) -> tuple[int, int, int]:
        """Return the first byte, the last one, and the status."""
        found = _range.match(self._line.headers.get("range", ""))
        condition = self._line.headers.get("if-range")
        known = {_tags(resource).get("ETag"), _tags(resource).get("Last-Modified")}
        last = len(resource.content) - 1
        is_other = resource.honours_if_range and condition is not None and condition not in known
        if not found or not resource.ranges or is_other:
            return 0, last, 200
        first = int(found[1])
        if first > last:
            return 0, last, 416
        return first, min(last, int(found[2])) if found[2] and resource.honours_range_end else last, 206

    def _body(self, resource: Resource, first: int, last: int) -> None:
        cut = resource.cut_after.pop(0) if resource.cut_after else None
        stall = resource.stall_after.pop(0) if resource.stall_after else None
        for block in _blocks(resource.content, first, last, resource.crumbs or BLOCK):
            here = block if cut is None else block[: max(0, cut - self._line.sent)]
            self._send(here, chunked=resource.chunked)
            if resource.crumbs:
                self._server.released.wait(0.02)
            if stall is not None and self._line.sent >= stall:
                self._handler.wfile.flush()
                self._server.stalled.append(self._line)
                stall = None
                self._server.released.wait(600)
            if cut is not None and self._line.sent >= cut:
                self._handler.wfile.flush()
                self._handler.connection.shutdown(2)
                raise ConnectionAbortedError
        if resource.chunked:
            self._handler.wfile.write(b"0\r\n\r\n")

    def _send(self, block: bytes, *, chunked: bool) -> None:
        with self._line.writing:
            if block and chunked:
                self._handler.wfile.write(f"{len(block):x}\r\n".encode() + block + b"\r\n")
            elif block:
                self._handler.wfile.write(block)
            self._line.sent += len(block)


def _blocks(content: bytes, first: int, last: int, size: int) -> Iterator[bytes]:
    for start in range(first, last + 1, size):
        yield content[start : min(start + size, last + 1)]


def _patience(resource: Resource) -> dict[str, str]:
    return {"Retry-After": resource.retry_after} if resource.retry_after else {}


def _tags(resource: Resource) -> dict[str, str]:
    found = {"Accept-Ranges": "bytes"} if resource.ranges else {}
    if resource.etag is not None:
        found["ETag"] = resource.etag if resource.etag.startswith("W/") else f'"{resource.etag}"'
    if resource.modified is not None:
        found["Last-Modified"] = formatdate(resource.modified, usegmt=True)
    return found
