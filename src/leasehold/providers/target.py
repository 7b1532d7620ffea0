"""Where a request goes: an http or https URL, read once and strictly, and the exchange of one request with it."""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import re
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from typing import Final
from urllib.parse import SplitResult, urlsplit

from leasehold.errors import OptionInvalid
from leasehold.model.delivery import NotSent
from leasehold.providers.deadline import Deadline
from leasehold.providers.dial import Permit, Resolver, dial, host_of
from leasehold.providers.verdicts import REPAIR_SECONDS, MaybeSent, quoted

ANSWER_BYTES_MAX: Final = 64 * 1024
PORTS: Final = {"http": 80, "https": 443}
_URL: Final = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class Target:
    """One URL in the pieces that a request is made of."""

    is_secure: bool
    host: str
    port: int
    authority: str
    path: str

    @classmethod
    def parse(cls, url: str) -> Target:
        """Read a URL; `OptionInvalid` for one that two readers could read differently. Never quotes it."""
        if not _URL.fullmatch(url) or "\\" in url or "#" in url:
            raise OptionInvalid("A webhook's URL is printable ASCII without spaces, backslashes and fragment.")
        try:
            parts = urlsplit(url)
            port = parts.port
            host = _host(parts)
        except ValueError as error:
            raise OptionInvalid(f"A webhook's URL: {error}.") from None
        if parts.scheme not in PORTS or "@" in parts.netloc or port == 0:
            raise OptionInvalid("A webhook's URL is http or https, has no user or password, and a port above 0.")
        named = f"[{host}]" if ":" in host else host
        authority = named if port in {None, PORTS[parts.scheme]} else f"{named}:{port}"
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return cls(parts.scheme == "https", host, port or PORTS[parts.scheme], authority, path)


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of a target."""

    method: str
    headers: Mapping[str, str]
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. A body that is too long, or broke off, is left out."""

    status: int
    headers: Message
    body: bytes


@dataclass(frozen=True, slots=True)
class Reach:
    """How far a request may go: to which addresses, by which certificates, for how long."""

    permit: Permit
    resolver: Resolver
    context: ssl.SSLContext | None
    timeout: float


def ask(target: Target, request: Request, reach: Reach) -> Answer:
    """Send one request and return its answer. No redirect is followed and no proxy used.

    `NotSent` or `Refused` if no byte of the request has left, `MaybeSent` if one may have and no answer came.
    """
    deadline = Deadline(reach.timeout)
    raw = dial(target.host, target.port, permit=reach.permit, resolver=reach.resolver, deadline=deadline)
    with contextlib.closing(raw), deadline.guard(raw), contextlib.closing(_wrapped(raw, target, reach)) as channel:
        connection = http.client.HTTPConnection(target.host, target.port)
        connection.sock = channel
        with contextlib.closing(_response(connection, target, request)) as response:
            return Answer(response.status, response.headers, _body(response))


def _wrapped(raw: socket.socket, target: Target, reach: Reach) -> socket.socket:
    if not target.is_secure:
        return raw
    try:
        context = reach.context or ssl.create_default_context()
        return context.wrap_socket(raw, server_hostname=target.host)
    except ssl.CertificateError as error:
        raise NotSent(f"TLS: {quoted(error)}", retry_after=REPAIR_SECONDS) from None
    except (OSError, ValueError) as error:
        raise NotSent(f"TLS: {quoted(error)}") from None


def _response(connection: http.client.HTTPConnection, target: Target, request: Request) -> http.client.HTTPResponse:
    headers = {"Host": target.authority, "Connection": "close", "User-Agent": "leasehold", **request.headers}
    try:
        # A peer may answer and hang up before it has read everything: the answer counts, if it can still be read.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.request(request.method, target.path, request.body, headers)
        return connection.getresponse()
    except (OSError, ValueError, http.client.HTTPException) as error:
        said = quoted(f"{type(error).__name__} {error}")
        raise MaybeSent(f"The request was handed over, its answer did not come: {said}") from None


def _body(response: http.client.HTTPResponse) -> bytes:
    try:
        body = response.read(ANSWER_BYTES_MAX + 1)
    except (OSError, ValueError, http.client.HTTPException):
        return b""
    return body if len(body) <= ANSWER_BYTES_MAX else b""


def _host(parts: SplitResult) -> str:
    host = parts.hostname or ""
    if not parts.netloc.rpartition("@")[2].startswith("["):
        return host_of(host)
    if "%" in host:
        raise ValueError("an address with a zone leads to different places on different machines")
    return str(ipaddress.IPv6Address(host))
