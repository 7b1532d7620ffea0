"""Where a request goes: an http or https URL, parsed once and strictly, and the proxy on the way.

The environment names the proxy: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`.
"""

from __future__ import annotations

import base64
import http.client
import ipaddress
import re
import socket
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

from leasehold.outbound.addresses import address_of, ascii_host
from leasehold.outbound.errors import NotConnected

TUNNEL_OPEN: Final = 200
PORTS: Final = {"http": 80, "https": 443}
_PRINTABLE: Final = re.compile(r"[!-~]+")


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
        """Parse a URL; `ValueError` for one that two parsers could understand differently. Never quotes it."""
        if not _PRINTABLE.fullmatch(url) or "\\" in url or "#" in url:
            raise ValueError("it is printable ASCII without spaces, backslashes and fragment")
        parts = urlsplit(url)
        port, host = parts.port, _host(parts)
        if parts.scheme not in PORTS or "@" in parts.netloc or port == 0:
            raise ValueError("it is http or https, has no user or password, and a port above 0")
        bracketed = f"[{host}]" if ":" in host else host
        authority = bracketed if port in {None, PORTS[parts.scheme]} else f"{bracketed}:{port}"
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return cls(parts.scheme == "https", host, port or PORTS[parts.scheme], authority, path)


def _host(parts: SplitResult) -> str:
    host = parts.hostname or ""
    if not parts.netloc.rpartition("@")[2].startswith("["):
        return ascii_host(host)
    if "%" in host:
        raise ValueError("an address with a zone leads to different hosts on different machines")
    return str(ipaddress.IPv6Address(host))


def is_loopback_host(host: str) -> bool:
    """Whether a host, as a URL names it, is this machine: `localhost` or a loopback address."""
    address = address_of(host)
    return host == "localhost" if address is None else address.is_loopback


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy. `authorization` is the value of Proxy-Authorization, or empty."""

    host: str
    port: int
    authorization: str = field(default="", repr=False)

    @property
    def authorization_line(self) -> str:
        """The header line with the account; empty if the proxy needs none."""
        return f"Proxy-Authorization: {self.authorization}\r\n" if self.authorization else ""


def proxy_for(target: Target) -> Proxy | None:
    """Return the proxy that requests to a target go through; None if they go directly, as to this machine always."""
    from urllib.request import getproxies, proxy_bypass

    if is_loopback_host(target.host) or proxy_bypass(f"{target.host}:{target.port}"):
        return None
    proxies = getproxies()
    if not (url := proxies.get("https" if target.is_secure else "http") or proxies.get("all")):
        return None
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host, port = parts.hostname, parts.port or PORTS["http"]
    except ValueError:
        host, port, parts = None, 0, SplitResult("", "", "", "", "")
    if parts.scheme != "http" or not host:
        raise NotConnected("The proxy of the environment is not an http:// address.", needs_operator=True)
    return Proxy(host, port, _authorization(parts))


def open_tunnel(connection: socket.socket, target: Target, proxy: Proxy) -> None:
    authority = f"[{target.host}]:{target.port}" if ":" in target.host else f"{target.host}:{target.port}"
    request = f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n{proxy.authorization_line}\r\n"
    try:
        connection.sendall(request.encode("ascii"))
        response = http.client.HTTPResponse(connection, method="CONNECT")
        response.begin()
        response.close()
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise NotConnected(f"The proxy {proxy.host} did not answer: {type(error).__name__} {error}") from None
    if response.status != TUNNEL_OPEN:
        raise NotConnected(f"The proxy {proxy.host} answered {response.status}.")


def _authorization(parts: SplitResult) -> str:
    if parts.username is None:
        return ""
    credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return f"Basic {base64.b64encode(credentials.encode()).decode('ascii')}"
