"""Wake-ups on PostgreSQL: one LISTEN per process, and NOTIFY on a connection that does not wait for the disk."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

import psycopg

from leasehold.store.db import statements
from leasehold.store.db.postgres_dial import dial
from leasehold.store.db.wake import ATTENTION

PAUSE_FIRST: Final = 0.1
PAUSE_MAX: Final = 5.0


class PostgresListener:
    """Hears NOTIFY. A lost connection is opened again, and everything counts as heard then."""

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo
        self._connection: psycopg.Connection[tuple[object, ...]] | None = None
        self._closed = threading.Event()
        self._pause = PAUSE_FIRST

    def wait(self, seconds: float) -> set[str]:
        """Return the words heard within `seconds`."""
        try:
            if self._connection is None:
                self._connect()
                return {ATTENTION}
            return self._heard(seconds)
        except psycopg.Error:
            self._hang_up()
            self._closed.wait(min(self._pause, seconds))
            self._pause = min(self._pause * 2, PAUSE_MAX)
            return set()

    def _connect(self) -> None:
        self._connection = dial(self._conninfo)
        self._connection.execute(statements.text("session", "listen").encode())
        self._pause = PAUSE_FIRST

    def _heard(self, seconds: float) -> set[str]:
        assert self._connection is not None
        return {notice.payload for notice in self._connection.notifies(timeout=seconds, stop_after=1)}

    def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(psycopg.Error):
                connection.close()

    def close(self) -> None:
        """Stop listening."""
        self._closed.set()
        self._hang_up()


class PostgresNotifier:
    """Says words with NOTIFY, each in a statement of its own, without waiting for the disk."""

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo
        self._connection: psycopg.Connection[tuple[object, ...]] | None = None

    def send(self, words: Iterable[str]) -> None:
        """Say words; if the connection fails they are lost, and polling finds the work."""
        try:
            if self._connection is None:
                self._connection = dial(self._conninfo)
            for word in words:
                self._connection.execute(statements.text("session", "notify").encode(), {"word": word}, prepare=False)
        except psycopg.Error:
            self.close()

    def close(self) -> None:
        """Let the connection go."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(psycopg.Error):
                connection.close()
