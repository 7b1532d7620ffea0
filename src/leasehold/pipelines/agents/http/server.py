"""A server for the application: its address, its end, and uvicorn with every limit that it can have."""

import contextlib
import ipaddress
import socket
from collections.abc import Callable
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from leasehold.errors import Misuse
from leasehold.pipelines.agents.http.connection import DeadlineProtocol
from leasehold.pipelines.agents.http.limits import KEEP_ALIVE_SECONDS, STOP_SECONDS
from leasehold.processes import Stop

BACKLOG: Final = 256
LOCAL_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
REMOTE_SENTENCE: Final = "everybody who has the token runs commands as this user"


class AddressRefused(Misuse, code="URM_HTTP_ADDRESS_INVALID"):
    """The server listens on loopback only, or on another address of this machine that was allowed explicitly."""


def check_address(host: str, sentence: str | None) -> None:
    """Refuse an address that other machines can reach, unless the sentence is given that states what it means."""
    if not is_loopback(host) and sentence != REMOTE_SENTENCE:
        raise AddressRefused(f"For {host}, pass: --allow-remote '{REMOTE_SENTENCE}'")


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def allowed_hosts(host: str, more: tuple[str, ...]) -> frozenset[str]:
    """Return the names that a Host header may have."""
    own = f"[{host}]" if ":" in host else host
    return LOCAL_NAMES | {name.lower() for name in (own, *more)}


def listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise AddressRefused(f"{host}, port {port}: {error.strerror}.") from None


def url_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class HttpServer(uvicorn.Server):
    """Serves until a stop is requested. Streams of events end at once then; other requests have some seconds."""

    def __init__(self, app: ASGIApp, stop: Stop, on_stop: Callable[[], None]) -> None:
        config = uvicorn.Config(
            app,
            http=DeadlineProtocol,
            ws="none",
            lifespan="off",
            loop="asyncio",
            log_config=None,
            log_level="critical",  # its tracebacks could show secrets; the routes report what fails
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=STOP_SECONDS,
        )
        super().__init__(config)
        self._stop = stop
        self._on_stop = on_stop

    def capture_signals(self) -> contextlib.AbstractContextManager[None]:  # type: ignore[override]
        """Leave signals to the command, which has more to end than this server."""
        return contextlib.nullcontext()

    async def on_tick(self, counter: int) -> bool:
        return self._stop.number is not None or await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._on_stop()
        await super().shutdown(sockets)
