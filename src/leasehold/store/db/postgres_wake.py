"""Wake-ups on PostgreSQL: one LISTEN per process, and NOTIFY on a connection that does not wait for the disk."""

import threading
from collections.abc import Iterable
from contextlib import suppress

import psycopg

from leasehold.store.db import statements
from leasehold.store.db.limits import RECONNECT_PAUSE_FIRST, RECONNECT_PAUSE_MAX
from leasehold.store.db.postgres_dial import dial
from leasehold.store.db.wake import ATTENTION


class PostgresListener:
    """Receives NOTIFY. After a lost connection is opened again, `ATTENTION` stands for what was missed."""

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo
        self._connection: psycopg.Connection[tuple[object, ...]] | None = None
        self._closed = threading.Event()
        self._pause = RECONNECT_PAUSE_FIRST

    def wait(self, seconds: float) -> set[str]:
        try:
            if self._connection is None:
                self._connect()
                return {ATTENTION}
            return self._receive(seconds)
        except psycopg.Error:
            self._disconnect()
            self._closed.wait(min(self._pause, seconds))
            self._pause = min(self._pause * 2, RECONNECT_PAUSE_MAX)
            return set()

    def _connect(self) -> None:
        self._connection = dial(self._conninfo)
        self._connection.execute(statements.text("session", "listen").encode())
        self._pause = RECONNECT_PAUSE_FIRST

    def _receive(self, seconds: float) -> set[str]:
        assert self._connection is not None
        return {notice.payload for notice in self._connection.notifies(timeout=seconds, stop_after=1)}

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(psycopg.Error):
                connection.close()

    def close(self) -> None:
        self._closed.set()
        self._disconnect()


class PostgresNotifier:
    """Sends hints with NOTIFY, one statement each, without waiting for the disk."""

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo
        self._connection: psycopg.Connection[tuple[object, ...]] | None = None

    def send(self, hints: Iterable[str]) -> None:
        """Send hints; if the connection fails they are lost, and polling finds the work."""
        try:
            if self._connection is None:
                self._connection = dial(self._conninfo)
            for hint in hints:
                self._connection.execute(statements.text("session", "notify").encode(), {"hint": hint}, prepare=False)
        except psycopg.Error:
            self.close()

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(psycopg.Error):
                connection.close()
