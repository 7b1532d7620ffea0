"""A real HTTP server that takes messages, and answers each request as the test wants."""

import http.server
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

GUARD_SECONDS = 60


@dataclass
class Request:
    """One request as it came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Response:
    """One answer. `drops` closes the connection unanswered, `hangs` never answers."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    drops: bool = False
    hangs: bool = False


class Receiver:
    """Calls `reply` with each request."""

    def __init__(self, reply: Callable[[Request], Response] | Response, context: ssl.SSLContext | None = None) -> None:
        self.reply = reply if callable(reply) else lambda _: reply
        self.requests: list[Request] = []
        self.over = threading.Event()
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._requests())
        if context is not None:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port: int = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=[0.01], daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(GUARD_SECONDS)

    def _requests(self) -> type[http.server.BaseHTTPRequestHandler]:
        receiver = self

        class Requests(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                request = Request(self.command, self.path, dict(self.headers.items()), body)
                receiver.requests.append(request)
                self._respond(receiver.reply(request))

            do_GET = do_POST  # noqa: N815

            def _respond(self, response: Response) -> None:
                self.close_connection = True
                if response.hangs:
                    receiver.over.wait(GUARD_SECONDS)
                if response.hangs or response.drops:
                    return
                self.send_response(response.status)
                for name, value in ({"Content-Length": str(len(response.body))} | response.headers).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(response.body)

            def log_message(self, *_: object) -> None:
                """Keep the tests quiet."""

        return Requests
