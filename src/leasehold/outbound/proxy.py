"""The proxy that the environment names for a target: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`."""

import base64
import http.client
import socket
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit

from leasehold.outbound.addresses import is_loopback_host
from leasehold.outbound.errors import NotConnected
from leasehold.outbound.target import Target

PORT: int = 80
OK: int = 200


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy. `authorization` is the value of Proxy-Authorization, or empty."""

    host: str
    port: int
    authorization: str = field(default="", repr=False)


def proxy_for(target: Target) -> Proxy | None:
    """Return the proxy that requests to a target go through; None if they go directly, as to this machine always."""
    from urllib.request import getproxies, proxy_bypass

    if is_loopback_host(target.host) or proxy_bypass(f"{target.host}:{target.port}"):
        return None
    proxies = getproxies()
    url = proxies.get("https" if target.is_secure else "http") or proxies.get("all")
    if not url:
        return None
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host, port = parts.hostname, parts.port or PORT
    except ValueError:
        host, port, parts = None, 0, SplitResult("", "", "", "", "")
    if parts.scheme != "http" or not host:
        raise NotConnected("The proxy of the environment is not an http:// address.", needs_operator=True)
    return Proxy(host, port, _authorization(parts))


def open_tunnel(connection: socket.socket, target: Target, proxy: Proxy) -> None:
    authority = f"[{target.host}]:{target.port}" if ":" in target.host else f"{target.host}:{target.port}"
    lines = [f"CONNECT {authority} HTTP/1.1", f"Host: {authority}"]
    lines += [f"Proxy-Authorization: {proxy.authorization}"] if proxy.authorization else []
    try:
        connection.sendall("".join(f"{line}\r\n" for line in [*lines, ""]).encode("ascii"))
        response = http.client.HTTPResponse(connection, method="CONNECT")
        response.begin()
        response.close()
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise NotConnected(f"The proxy {proxy.host} did not answer: {type(error).__name__} {error}") from None
    if response.status != OK:
        raise NotConnected(f"The proxy {proxy.host} answered {response.status}.")


def _authorization(parts: SplitResult) -> str:
    if parts.username is None:
        return ""
    credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return f"Basic {base64.b64encode(credentials.encode()).decode('ascii')}"
