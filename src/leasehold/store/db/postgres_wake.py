"""Wake-ups on PostgreSQL: one LISTEN per process, and NOTIFY on a connection that does not wait for the disk."""

import threading
from collections.abc import Iterable
from contextlib import suppress

import psycopg

from leasehold.store.db import statements
from leasehold.store.db.limits import RECONNECT_PAUSE_FIRST, RECONNECT_PAUSE_MAX
from leasehold.store.db.wake import ATTENTION


def dial(conninfo: str) -> psycopg.Connection[tuple[object, ...]]:
    """Open a connection. With no descriptor to be had the driver would let a bare OSError through."""
    try:
        return psycopg.connect(conninfo, autocommit=True)
    except OSError as error:
        raise psycopg.OperationalError(str(error)) from error


class _OnConnection:
    """Something that opens a connection of its own when it needs one, and again after it was lost."""

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo
        self._connection: psycopg.Connection[tuple[object, ...]] | None = None

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(psycopg.Error):
                connection.close()


class PostgresNotifier(_OnConnection):
    """Sends hints with NOTIFY, one statement each, without waiting for the disk."""

    def send(self, hints: Iterable[str]) -> None:
        """Send hints; if the connection fails they are lost, and polling finds the work."""
        notify = statements.encoded("postgres", "session/notify")
        try:
            if self._connection is None:
                self._connection = dial(self._conninfo)
            for hint in hints:
                self._connection.execute(notify, {"hint": hint}, prepare=False)
        except psycopg.Error:
            self.close()


class PostgresListener(_OnConnection):
    """Receives NOTIFY. After a lost connection is opened again, `ATTENTION` stands for what was missed."""

    def __init__(self, conninfo: str) -> None:
        super().__init__(conninfo)
        self._closed = threading.Event()
        self._pause = RECONNECT_PAUSE_FIRST

    def wait(self, seconds: float) -> set[str]:
        try:
            if self._connection is not None:
                return {notice.payload for notice in self._connection.notifies(timeout=seconds, stop_after=1)}
            self._connection = dial(self._conninfo)
            self._connection.execute(statements.encoded("postgres", "session/listen"))
            self._pause = RECONNECT_PAUSE_FIRST
            return {ATTENTION}
        except psycopg.Error:
            super().close()
            self._closed.wait(min(self._pause, seconds))
            self._pause = min(self._pause * 2, RECONNECT_PAUSE_MAX)
            return set()

    def close(self) -> None:
        self._closed.set()
        super().close()
