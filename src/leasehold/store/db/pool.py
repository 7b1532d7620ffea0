"""A few connections, shared. The one used last is handed out first, so idle ones stay idle.

Takers are served in the order they came: one that comes back at once must not keep the others waiting for ever.

A connection belongs to the process that opened it. Before a fork the idle ones are closed, since SQLite would take the
locks of an inherited one for the child's own; a child starts with none and never touches what it inherited.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Generic, Protocol, TypeVar
from weakref import WeakSet

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
        self._closed = False
        self._start_empty()
        _pools.add(self)

    def _start_empty(self) -> None:
        self._idle: list[C] = []
        self._line: deque[_Taker[C]] = deque()
        self._count = 0
        self._lock = threading.Lock()

    def take(self) -> C:
        """Return an idle connection, or open one, or wait."""
        taker: _Taker[C] | None = None
        with self._lock:
            self._check_open()
            if self._idle:
                return self._idle.pop()
            if self._count < self._size:
                self._count += 1
            else:
                taker = _Taker()
                self._line.append(taker)
        return (taker.wait() if taker is not None else None) or self._open()

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

    def part(self) -> None:
        """Close what is idle, so that a child that is about to be forked does not inherit it."""
        with self._lock:
            idle, self._idle = self._idle, []
            self._count -= len(idle)
        for connection in idle:
            with suppress(Exception):  # a fork must not fail for it
                connection.close()

    def reset_after_fork(self) -> None:
        """Forget, in a forked child, what the parent had open, and who was waiting there."""
        keep_unclosed(*self._idle)
        self._start_empty()


_pools: Final[WeakSet[Pool[Any]]] = WeakSet()
_inherited: Final[list[object]] = []


def keep_unclosed(*inherited: object) -> None:
    """Keep what a forked child inherited, so that it is neither used nor closed there: the parent is using it."""
    _inherited.extend(inherited)


def _part_all() -> None:
    for pool in list(_pools):
        pool.part()


def _begin_anew() -> None:
    for pool in list(_pools):
        pool.reset_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_part_all, after_in_child=_begin_anew)
