"""A small TCP proxy in front of a PostgreSQL server, with real sockets, that can lose the answer to one statement.

The statement reaches the server and is carried out; then the connection is cut before its answer comes back. That
is what a client sees when a server or a network dies at the worst moment: it cannot know what happened.
"""

import socket
import threading
from contextlib import suppress

from tests.support.http.forwarder import Listener, Pair

READY_FOR_QUERY = b"Z\x00\x00\x00\x05"  # the server's last word on a statement, before one byte of status


class Proxy(Listener):
    """Listens on a port of its own and forwards to the server's."""

    def __init__(self, server_port: int) -> None:
        super().__init__(server_port)
        self.cuts = 0
        self._needle = b""
        self._lock = threading.Lock()
        self.listen()

    def link(self, client: socket.socket, server: socket.socket) -> "_Link":
        return _Link(self, client, server)

    def lose_the_answer_to(self, needle: bytes) -> None:
        """Cut the connection after the server has carried out the next statement that holds these bytes."""
        self._needle = needle

    def take(self, sent: bytes) -> bool:
        """Whether this is the statement whose answer is to be lost; true once."""
        with self._lock:
            if not self._needle or self._needle not in sent:
                return False
            self._needle = b""
            self.cuts += 1
            return True


class _Link(Pair):
    """One client's connection: a thread for each direction."""

    def __init__(self, proxy: Proxy, client: socket.socket, server: socket.socket) -> None:
        super().__init__(client, server)
        self._proxy = proxy
        self._client = client
        self._server = server
        self._cutting = threading.Event()
        self.start(*(threading.Thread(target=pump, daemon=True) for pump in (self._forward, self._answer)))

    def _forward(self) -> None:
        with suppress(OSError):
            while sent := self._client.recv(1 << 20):
                if self._proxy.take(sent):
                    self._cutting.set()
                self._server.sendall(sent)
        self.hang_up()

    def _answer(self) -> None:
        with suppress(OSError):
            while answer := self._server.recv(1 << 20):
                if not self._cutting.is_set():
                    self._client.sendall(answer)
                elif READY_FOR_QUERY in answer:
                    break
        self.hang_up()
