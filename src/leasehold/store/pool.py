"""A few connections, shared. The one used last is handed out first, so idle ones stay idle."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from leasehold.errors import Misuse


class Closable(Protocol):
    """Something that can be closed."""

    def close(self) -> None:
        """Let it go."""


C = TypeVar("C", bound=Closable)


class Pool(Generic[C]):
    """At most `size` connections; a taker waits for one to come back."""

    def __init__(self, connect: Callable[[], C], size: int) -> None:
        self._connect = connect
        self._size = size
        self._idle: list[C] = []
        self._count = 0
        self._closed = False
        self._changed = threading.Condition()

    def take(self) -> C:
        """Return an idle connection, or open one, or wait."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._idle or self._count < self._size)
            if self._closed:
                raise Misuse("This store is closed; open another.")
            if self._idle:
                return self._idle.pop()
            self._count += 1
        try:
            return self._connect()
        except BaseException:
            self._forget()
            raise

    def give(self, connection: C) -> None:
        """Take back a connection that works."""
        with self._changed:
            if not self._closed:
                self._idle.append(connection)
                self._changed.notify()
                return
        connection.close()

    def drop(self, connection: C) -> None:
        """Take back a connection that does not."""
        self._forget()
        connection.close()

    def close(self) -> None:
        """Close what is idle; what is out is closed when it comes back."""
        with self._changed:
            self._closed = True
            idle, self._idle = self._idle, []
            self._changed.notify_all()
        for connection in idle:
            connection.close()

    def _forget(self) -> None:
        with self._changed:
            self._count -= 1
            self._changed.notify()
