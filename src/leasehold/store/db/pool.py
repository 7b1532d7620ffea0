"""A pool of a few connections. The one used last is handed out first, so idle ones stay idle and can be closed.

Threads are served in the order they came: one that comes back at once must not starve the others. Where the server
grants no more connections, a thread waits for one that another thread releases.

A connection belongs to the process that opened it. Before a fork the idle ones are closed, since SQLite would take the
locks of an inherited one for the child's own; a child starts with none and never uses what it inherited.
"""

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Final, Generic, Protocol, TypeVar
from weakref import WeakSet

from leasehold.errors import Misuse


class Closable(Protocol):
    @property
    def usable(self) -> bool: ...

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
        self._idle: list[tuple[C, float]] = []  # and since when, the longest first
        # A waiting thread gets a connection, or None and with it the right to open one.
        self._waiters: deque[Future[C | None]] = deque()
        self._count = 0  # open ones, and those being opened
        self._opening = 0
        self._lock = threading.Lock()

    def acquire(self) -> C:
        waiter: Future[C | None] | None = None
        with self._lock:
            self._check_open()
            if self._idle:
                return self._idle.pop()[0]
            if self._count < self._size:
                self._count += 1
            else:
                waiter = Future()
                self._waiters.append(waiter)
        return (waiter.result() if waiter is not None else None) or self._open()

    def _open(self) -> C:
        while True:
            waiter: Future[C | None] | None = None
            with self._lock:
                self._opening += 1
            try:
                self._check_open()
                return self._connect()
            except Exception:
                waiter = self._await_other()
                if waiter is None:
                    raise
            except BaseException:
                self._free_place()
                raise
            finally:
                with self._lock:
                    self._opening -= 1
            if (connection := waiter.result()) is not None:
                return connection

    def _await_other(self) -> Future[C | None] | None:
        """Give the place back; if there are other connections, wait for one of them."""
        with self._lock:
            if self._count > 1 and not self._closed:
                self._count -= 1
                waiter: Future[C | None] = Future()
                self._waiters.append(waiter)
                return waiter
        self._free_place()
        return None

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
                self._idle.append((connection, time.monotonic()))
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
        for connection, _ in idle:
            connection.close()

    @property
    def is_awaited(self) -> bool:
        """Whether a thread waits for a connection."""
        return bool(self._waiters)

    def has_open(self) -> bool:
        """Return whether there is an open connection, after closing those that the server has ended."""
        self._close_idle(lambda connection, _: not connection.usable)
        with self._lock:
            return self._count > self._opening

    def close_rested(self, seconds: float, keep: int) -> None:
        """Close connections that nobody has used for so long, except `keep` of all."""
        limit, spare = time.monotonic() - seconds, self._count - keep
        self._close_idle(lambda _, since: since <= limit, spare)

    def _close_idle(self, is_over: Callable[[C, float], bool], most: int | None = None) -> None:
        with self._lock:
            over = [one for one in self._idle if is_over(*one)][: None if most is None else max(0, most)]
            self._idle = [one for one in self._idle if one not in over]
            self._count -= len(over)
        for connection, _ in over:
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
        for connection, _ in idle:
            with suppress(Exception):  # a fork must not fail because of it
                connection.close()

    def reset_after_fork(self) -> None:
        """Forget, in a forked child, the parent's connections and waiting threads."""
        keep_unclosed(*(connection for connection, _ in self._idle))
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
