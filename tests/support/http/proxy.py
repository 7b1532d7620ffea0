"""A forward proxy as a process of its own: `python -m tests.support.http.proxy`. It prints its port, then each request.

Plain requests are forwarded, one a connection; CONNECT opens a tunnel. Every host is this machine. An argument
is the USER:PASSWORD that it wants.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tests.support.wait import until

if TYPE_CHECKING:
    import pytest

BLOCK = 64 * 1024
VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


def unset_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the environment name no proxy."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def report(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy until one side closes."""
    with suppress(ConnectionError):
        while block := await reader.read(BLOCK):
            writer.write(block)
            await writer.drain()
    writer.close()


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Serve one connection."""
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        report(head.partition("\r\n")[0])
        if len(sys.argv) > 1 and f"Basic {b64encode(sys.argv[1].encode()).decode()}\r\n" not in head:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 2\r\n\r\nno")
            writer.close()
            return
        method, target, _ = head.split(" ", 2)
        is_tunnel = method == "CONNECT"
        parts = urlsplit(f"//{target}" if is_tunnel else target)
        there, back = await asyncio.open_connection("127.0.0.1", parts.port)
        if is_tunnel:
            writer.write(b"HTTP/1.0 200 Connection established\r\n\r\n")
        else:
            kept = [line for line in head.split("\r\n")[1:-2] if not line.startswith("Proxy-")]
            lines = [f"{method} {parts.path} HTTP/1.1", *kept, "Connection: close", "", ""]
            back.write("\r\n".join(lines).encode("latin-1"))
        await asyncio.gather(relay(there, writer), relay(reader, back))


async def main() -> None:
    """Serve on a free port until killed."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    report(str(server.sockets[0].getsockname()[1]))
    await server.serve_forever()


@contextmanager
def proxy_process(folder: Path, *account: str) -> Iterator[tuple[str, Path]]:
    """Start a proxy; yield its address, HOST:PORT, and the file with the requests it got."""
    log = folder / "proxy.log"
    with log.open("wb") as output:
        process = subprocess.Popen([sys.executable, "-m", __name__, *account], stdout=output)
    try:
        until(lambda: b"\n" in log.read_bytes())
        yield f"127.0.0.1:{int(log.read_text().split()[0])}", log
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    asyncio.run(main())
