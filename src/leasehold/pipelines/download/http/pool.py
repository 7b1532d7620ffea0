"""Open connections by host, and how a new one is made: directly, or through the proxy that the environment names.

`HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` count, in capitals or not. A proxy is reached by plain HTTP. It
forwards requests for http addresses; for https addresses it opens a tunnel, and sees no content.
"""

from __future__ import annotations

import asyncio
import ssl
from base64 import b64encode
from dataclasses import dataclass
from functools import cached_property
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]
from weakref import WeakKeyDictionary

from leasehold.errors import Misuse
from leasehold.pipelines.download.http.connection import Connection
from leasehold.pipelines.download.http.response import UnexpectedStatus
from leasehold.pipelines.download.http.urls import PORTS

IDLE_MAX: Final = 64
PROXY_PORT: Final = 80
TUNNEL_OPEN: Final = range(200, 300)
Idle = dict[tuple[str, str], list[Connection]]


class ProxyInvalid(Misuse):
    """The proxy that the environment names cannot be used; write it as http://HOST:PORT."""

    code = "PROXY_INVALID"


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy, and the header lines that requests to it need."""

    host: str
    port: int
    lines: str = ""

    @classmethod
    def parse(cls, url: str) -> Proxy:
        """Read the address of a proxy; its scheme may be left out."""
        parts = urlsplit(url if "://" in url else f"http://{url}")
        try:
            port = parts.port or PROXY_PORT
        except ValueError:
            raise ProxyInvalid from None
        if parts.scheme != "http" or not parts.hostname:
            raise ProxyInvalid
        if parts.username is None:
            return cls(parts.hostname, port)
        account = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        return cls(parts.hostname, port, f"Proxy-Authorization: Basic {b64encode(account.encode()).decode()}\r\n")


class Proxies:
    """Which proxy an address is fetched through."""

    def __init__(self) -> None:
        self._known = getproxies_environment()
        self._proxies = {
            scheme: Proxy.parse(url) for scheme in PORTS if (url := self._known.get(scheme) or self._known.get("all"))
        }

    def find(self, parts: SplitResult) -> Proxy | None:
        """Return the proxy for an address; None: it is fetched directly."""
        proxy = self._proxies.get(parts.scheme)
        if proxy is None or proxy_bypass_environment(parts.netloc, self._known):
            return None
        return proxy


class Pool:
    """Connections that are open and idle, by host; each event loop has its own."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._idle: WeakKeyDictionary[asyncio.AbstractEventLoop, Idle] = WeakKeyDictionary()
        self._closers: list[asyncio.Task[None]] = []
        self._proxies = Proxies()

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context()

    def forwarder(self, parts: SplitResult) -> Proxy | None:
        """Return the proxy that forwards requests for a plain http address."""
        return self._proxies.find(parts) if parts.scheme == "http" else None

    async def acquire(self, parts: SplitResult) -> tuple[Connection, bool]:
        """Return a connection, and whether it was used before."""
        idle = self._of_this_loop().get((parts.scheme, parts.netloc), [])
        while idle:
            connection = idle.pop()
            if connection.is_idle:
                return connection, True
        async with asyncio.timeout(self._timeout):
            return await self._connect(parts), False

    async def _connect(self, parts: SplitResult) -> Connection:
        host, port = parts.hostname or "", parts.port or PORTS[parts.scheme]
        tls = self._tls if parts.scheme == "https" else None
        proxy = self._proxies.find(parts)
        if proxy is None:
            return await _open(host, port, tls)
        connection = await _open(proxy.host, proxy.port, None)
        if tls is not None:
            try:
                await self._tunnel(connection, proxy, f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
                await connection.start_tls(tls, host)
            except BaseException:
                connection.close()
                raise
        return connection

    async def _tunnel(self, connection: Connection, proxy: Proxy, target: str) -> None:
        raw = f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{proxy.lines}\r\n".encode("latin-1")
        head = await connection.request(raw, self._timeout, is_bodiless=True)
        if head.status_code not in TUNNEL_OPEN:
            raise UnexpectedStatus(head, f"proxy {proxy.host}:{proxy.port}")

    def release(self, parts: SplitResult, connection: Connection) -> None:
        """Keep a connection whose response was read to its end; close any other."""
        idle = self._of_this_loop().setdefault((parts.scheme, parts.netloc), [])
        if connection.is_idle and len(idle) < IDLE_MAX:
            idle.append(connection)
        else:
            connection.close()

    def _of_this_loop(self) -> Idle:
        loop = asyncio.get_running_loop()
        known = self._idle.get(loop)
        if known is None:
            known = self._idle[loop] = {}
            self._closers.append(loop.create_task(_close_at_end(known)))
        return known

    def close(self) -> None:
        """Close every idle connection, each on its loop."""
        for closer in self._closers:
            if not closer.get_loop().is_closed():
                closer.get_loop().call_soon_threadsafe(closer.cancel)


async def _open(host: str, port: int, tls: ssl.SSLContext | None) -> Connection:
    _, connection = await asyncio.get_running_loop().create_connection(Connection, host, port, ssl=tls)
    return connection


async def _close_at_end(idle: Idle) -> None:
    """Close the connections of a loop when it ends."""
    try:
        await asyncio.get_running_loop().create_future()
    finally:
        for connection in [connection for connections in idle.values() for connection in connections]:
            connection.close()
        idle.clear()
        await asyncio.sleep(0)  # a transport is closed by its loop, one step later
