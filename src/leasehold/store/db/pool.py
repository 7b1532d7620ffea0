"""A pool of a few connections. The one used last is handed out first, so idle ones stay idle.

Threads are served in the order they came: one that comes back at once must not starve the others.

A connection belongs to the process that opened it. Before a fork the idle ones are closed, since SQLite would take the
locks of an inherited one for the child's own; a child starts with none and never uses what it inherited.
"""

import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Final, Generic, Protocol, TypeVar
from weakref import WeakSet

from leasehold.errors import Misuse


class Closable(Protocol):
    def close(self) -> None: ...


C = TypeVar("C", bound=Closable)


class ConnectionPool(Generic[C]):
    """At most `size` connections; `acquire` waits for one to be released."""

    def __init__(self, connect: Callable[[], C], size: int) -> None:
        self._connect = connect
        self._size = size
        self._closed = False
        self._start_empty()
        _pools.add(self)

    def _start_empty(self) -> None:
        self._idle: list[C] = []
        # A waiting thread gets a connection, or None and with it the right to open one.
        self._waiters: deque[Future[C | None]] = deque()
        self._count = 0
        self._lock = threading.Lock()

    def acquire(self) -> C:
        waiter: Future[C | None] | None = None
        with self._lock:
            self._check_open()
            if self._idle:
                return self._idle.pop()
            if self._count < self._size:
                self._count += 1
            else:
                waiter = Future()
                self._waiters.append(waiter)
        return (waiter.result() if waiter is not None else None) or self._open()

    def _open(self) -> C:
        try:
            self._check_open()
            return self._connect()
        except BaseException:
            self._free_place()
            raise

    def _check_open(self) -> None:
        if self._closed:
            raise Misuse("This store is closed; open another.")

    def release(self, connection: C) -> None:
        """Take back a connection that still works."""
        with self._lock:
            if self._waiters:
                self._waiters.popleft().set_result(connection)
                return
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def discard(self, connection: C) -> None:
        """Close a connection that does not work any more."""
        self._free_place()
        connection.close()

    def close(self) -> None:
        """Close idle connections now and the others when they are released."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            while self._waiters:
                self._waiters.popleft().set_result(None)
        for connection in idle:
            connection.close()

    def _free_place(self) -> None:
        with self._lock:
            if self._waiters:
                self._waiters.popleft().set_result(None)
            else:
                self._count -= 1

    def close_idle_before_fork(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
            self._count -= len(idle)
        for connection in idle:
            with suppress(Exception):  # a fork must not fail because of it
                connection.close()

    def reset_after_fork(self) -> None:
        """Forget, in a forked child, the parent's connections and waiting threads."""
        keep_unclosed(*self._idle)
        self._start_empty()


_pools: Final[WeakSet[ConnectionPool[Any]]] = WeakSet()
_inherited: Final[list[object]] = []


def keep_unclosed(*inherited: object) -> None:
    """Keep what a forked child inherited, so that it is neither used nor closed there: the parent uses it."""
    _inherited.extend(inherited)


def _for_each_pool(act: Callable[[ConnectionPool[Any]], None]) -> None:
    for pool in list(_pools):
        act(pool)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: _for_each_pool(ConnectionPool.close_idle_before_fork),
        after_in_child=lambda: _for_each_pool(ConnectionPool.reset_after_fork),
    )
