"""A few connections, shared. The one used last is handed out first, so idle ones stay idle.

Takers are served in the order they came: one that comes back at once must not keep the others waiting for ever.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from leasehold.errors import Misuse


class Closable(Protocol):
    """Something that can be closed."""

    def close(self) -> None:
        """Let it go."""


C = TypeVar("C", bound=Closable)


class _Taker(Generic[C]):
    """One who waits; is handed a connection, or None and with it the right to open one."""

    def __init__(self) -> None:
        self._handed = threading.Event()
        self._connection: C | None = None

    def hand(self, connection: C | None) -> None:
        self._connection = connection
        self._handed.set()

    def wait(self) -> C | None:
        self._handed.wait()
        return self._connection


class Pool(Generic[C]):
    """At most `size` connections; a taker waits for one to come back."""

    def __init__(self, connect: Callable[[], C], size: int) -> None:
        self._connect = connect
        self._size = size
        self._idle: list[C] = []
        self._line: deque[_Taker[C]] = deque()
        self._count = 0
        self._closed = False
        self._lock = threading.Lock()

    def take(self) -> C:
        """Return an idle connection, or open one, or wait."""
        taker: _Taker[C] = _Taker()
        with self._lock:
            self._check_open()
            if self._idle:
                return self._idle.pop()
            if self._count < self._size:
                self._count += 1
                taker.hand(None)
            else:
                self._line.append(taker)
        return taker.wait() or self._open()

    def _open(self) -> C:
        try:
            self._check_open()
            return self._connect()
        except BaseException:
            self._forget()
            raise

    def _check_open(self) -> None:
        if self._closed:
            raise Misuse("This store is closed; open another.")

    def give(self, connection: C) -> None:
        """Take back a connection that works."""
        with self._lock:
            if self._line:
                self._line.popleft().hand(connection)
                return
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def drop(self, connection: C) -> None:
        """Take back a connection that does not."""
        self._forget()
        connection.close()

    def close(self) -> None:
        """Close what is idle; what is out is closed when it comes back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            while self._line:
                self._line.popleft().hand(None)
        for connection in idle:
            connection.close()

    def _forget(self) -> None:
        with self._lock:
            if self._line:
                self._line.popleft().hand(None)
            else:
                self._count -= 1
