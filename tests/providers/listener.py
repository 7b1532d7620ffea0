"""A real TCP server on this machine that serves each connection in a thread of its own."""

import contextlib
import socket
import threading
from types import TracebackType
from typing import Self

GUARD_SECONDS = 60  # against hanging only


class Listener:
    """Calls `serve` with each connection and closes the connection when it returns."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.closing = threading.Event()
        self.connections = 0
        self._threads: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def serve(self, connection: socket.socket) -> None:
        raise NotImplementedError

    def hang(self) -> None:
        """Send nothing until the test is over."""
        self.closing.wait(GUARD_SECONDS)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                connection.settimeout(GUARD_SECONDS)
                self.connections += 1
                thread = threading.Thread(target=self._attend, args=[connection], daemon=True)
                self._threads.append(thread)
                thread.start()

    def _attend(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            self.serve(connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for thread in (self._accepting, *self._threads):
            thread.join(timeout=GUARD_SECONDS)


def free_port() -> int:
    """Return a port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as unused:
        return int(unused.getsockname()[1])
