"""A small TCP proxy in front of a PostgreSQL server, with real sockets, that can lose the answer to one statement.

The statement reaches the server and is carried out; then the connection is cut before its answer comes back. That
is what a client sees when a server or a network dies at the worst moment: it cannot know what happened.
"""

import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

READY_FOR_QUERY = b"Z\x00\x00\x00\x05"  # the server's last word on a statement, before one byte of status


class Proxy:
    """Listens on a port of its own and forwards to the server's."""

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.cuts = 0
        self._needle = b""
        self._lock = threading.Lock()
        self._links: list[_Link] = []
        self._thread = threading.Thread(target=self._accept, name="proxy", daemon=True)
        self._thread.start()

    def lose_the_answer_to(self, needle: bytes) -> None:
        """Cut the connection after the server has carried out the next statement that holds these bytes."""
        self._needle = needle

    def take(self, sent: bytes) -> bool:
        """Whether this is the statement whose answer is to be lost; says so once."""
        with self._lock:
            if not self._needle or self._needle not in sent:
                return False
            self._needle = b""
            self.cuts += 1
            return True

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._server_port))
                self._links.append(_Link(self, client, server))

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(timeout=60)
        for link in self._links:
            link.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Link:
    """One client's connection: a thread for each direction."""

    def __init__(self, proxy: Proxy, client: socket.socket, server: socket.socket) -> None:
        self._proxy = proxy
        self._client = client
        self._server = server
        self._cutting = threading.Event()
        self._threads = [threading.Thread(target=pump, daemon=True) for pump in (self._forward, self._answer)]
        for thread in self._threads:
            thread.start()

    def _forward(self) -> None:
        with suppress(OSError):
            while sent := self._client.recv(1 << 20):
                if self._proxy.take(sent):
                    self._cutting.set()
                self._server.sendall(sent)
        self._hang_up()

    def _answer(self) -> None:
        with suppress(OSError):
            while said := self._server.recv(1 << 20):
                if not self._cutting.is_set():
                    self._client.sendall(said)
                elif READY_FOR_QUERY in said:
                    break
        self._hang_up()

    def _hang_up(self) -> None:
        for end in (self._client, self._server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._hang_up()
        for thread in self._threads:
            thread.join(timeout=60)
        self._client.close()
        self._server.close()
