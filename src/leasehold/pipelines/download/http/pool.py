"""Open connections by host, and how a new one is made: directly, or through the proxy that the environment names.

A proxy forwards requests for http addresses; for https addresses it opens a tunnel, and sees no content.
"""

import asyncio
import ssl
from functools import cached_property
from typing import Final
from urllib.parse import SplitResult
from weakref import WeakKeyDictionary

from leasehold.errors import Permanent
from leasehold.outbound import PORTS, NotConnected, Proxy, Target, proxy_for
from leasehold.pipelines.download.http.connection import Connection
from leasehold.pipelines.download.http.response import UnexpectedStatus

IDLE_MAX: Final = 64
TUNNEL_OPEN: Final = range(200, 300)
Idle = dict[tuple[str, str], list[Connection]]


class HttpConnectionPool:
    """Connections that are open and idle, by host; each event loop has its own."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._idle: WeakKeyDictionary[asyncio.AbstractEventLoop, Idle] = WeakKeyDictionary()
        self._closers: list[asyncio.Task[None]] = []
        self._proxies: dict[tuple[str, str], Proxy | None] = {}

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context()

    def proxy(self, parts: SplitResult) -> Proxy | None:
        """Return the proxy that an address is fetched through; None: it is fetched directly."""
        key = parts.scheme, parts.netloc
        if key not in self._proxies:
            target = Target(parts.scheme == "https", parts.hostname or "", _port(parts), parts.netloc, "/")
            try:
                self._proxies[key] = proxy_for(target)
            except NotConnected as error:  # the environment has to be repaired first
                raise Permanent(str(error), error_class="PROXY_INVALID") from None
        return self._proxies[key]

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
        host, port = parts.hostname or "", _port(parts)
        tls = self._tls if parts.scheme == "https" else None
        if (proxy := self.proxy(parts)) is None:
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
        raw = f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{proxy.authorization_line}\r\n".encode("latin-1")
        head = await connection.request(raw, self._timeout, is_bodiless=True)
        if head.status_code not in TUNNEL_OPEN:
            raise UnexpectedStatus(head, f"the proxy {proxy.host}:{proxy.port}")

    def release(self, parts: SplitResult, connection: Connection) -> None:
        """Keep a connection whose response was read to its end; close any other."""
        idle = self._of_this_loop().setdefault((parts.scheme, parts.netloc), [])
        if connection.is_idle and len(idle) < IDLE_MAX:
            idle.append(connection)
        else:
            connection.close()

    def _of_this_loop(self) -> Idle:
        loop = asyncio.get_running_loop()
        if (known := self._idle.get(loop)) is None:
            known = self._idle[loop] = {}
            self._closers.append(loop.create_task(_close_at_end(known)))
        return known

    def close(self) -> None:
        for closer in self._closers:
            if not closer.get_loop().is_closed():
                closer.get_loop().call_soon_threadsafe(closer.cancel)


def _port(parts: SplitResult) -> int:
    return parts.port or PORTS[parts.scheme]


async def _open(host: str, port: int, tls: ssl.SSLContext | None) -> Connection:
    _, connection = await asyncio.get_running_loop().create_connection(Connection, host, port, ssl=tls)
    return connection


async def _close_at_end(idle: Idle) -> None:
    try:
        await asyncio.get_running_loop().create_future()
    finally:
        for connection in [connection for connections in idle.values() for connection in connections]:
            connection.close()
        idle.clear()
        await asyncio.sleep(0)  # a transport is closed by its loop, one step later
