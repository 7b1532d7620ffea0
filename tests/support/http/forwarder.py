"""What proxies in front of a server share: a port of their own, and a pair of sockets for every client that comes."""

import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Protocol, Self


class Link(Protocol):
    """One client's connection to the server."""

    def release(self) -> bool:
        """Give up the sockets of a connection that is over; return whether it is."""

    def close(self) -> None:
        """End it, and give up its sockets."""


class Listener:
    """Listens, and makes a link of every connection; close it, or leave its block, to end them all."""

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._links: list[Link] = []
        self._thread = threading.Thread(target=self._accept, name="proxy", daemon=True)

    def listen(self) -> None:
        """Begin to accept clients."""
        self._thread.start()

    def link(self, client: socket.socket, server: socket.socket) -> Link:
        """Join a client with the server."""
        raise NotImplementedError

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._server_port))
                self._links = [link for link in self._links if not link.release()]
                self._links.append(self.link(client, server))

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


class Pair:
    """Two sockets and the threads that pump between them."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self._ends = (client, server)
        self._threads: list[threading.Thread] = []

    def start(self, *threads: threading.Thread) -> None:
        """Begin to pump."""
        self._threads = list(threads)
        for thread in threads:
            thread.start()

    def hang_up(self) -> None:
        """Cut the line on both sides."""
        for end in self._ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def release(self) -> bool:
        """Give up the sockets of a connection that is over; return whether it is."""
        if any(thread.is_alive() for thread in self._threads):
            return False
        for end in self._ends:
            end.close()
        return True

    def close(self) -> None:
        """End it, and give up its sockets."""
        self.hang_up()
        for thread in self._threads:
            thread.join(timeout=60)
        self.release()
