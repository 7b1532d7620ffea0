"""Wake-ups on PostgreSQL: one LISTEN per process, and NOTIFY on a connection that does not wait for the disk.

A NOTIFY never goes into a caller's transaction: PostgreSQL lets only one such transaction commit at a time, with its
sync to the disk. The end of a transaction that the caller ends is seen by looking at its connection.
"""

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final

import psycopg
from psycopg.pq import TransactionStatus

from leasehold.store.db import statements
from leasehold.store.db.limits import (
    COMMIT_LOOK_SECONDS_MAX,
    COMMIT_LOOK_SECONDS_MIN,
    COMMIT_LOOK_SHARE,
    RECONNECT_PAUSE_FIRST,
    RECONNECT_PAUSE_MAX,
)
from leasehold.store.db.wake import ATTENTION, WOKEN_MAX, Profile, code_of


def dial(conninfo: str) -> psycopg.Connection[tuple[object, ...]]:
    """Open a connection whose texts are UTF-8, whatever the environment or the role has set.

    With no descriptor to be had the driver would let a bare OSError through.
    """
    try:
        return psycopg.connect(conninfo, autocommit=True, client_encoding="UTF8")
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

    def __init__(self, conninfo: str) -> None:
        super().__init__(conninfo)
        self._sent_at = 0.0
        self._lock = threading.Lock()

    def send(self, hints: Iterable[str], sender: str = "", most: int = WOKEN_MAX) -> None:
        """Send hints; if the connection fails they are lost, and polling finds the work."""
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = dial(self._conninfo)
                for hint in hints:
                    name = "session/notify_all" if hint == ATTENTION else "session/notify"
                    values = {"hint": hint, "code": code_of(hint), "sender": int(sender or 0), "most": most}
                    self._connection.execute(statements.encoded("postgres", name), values, prepare=False)
            except psycopg.Error:
                self.close()
            self._sent_at = time.monotonic()

    def close_rested(self, seconds: float) -> None:
        with self._lock:
            if time.monotonic() - self._sent_at >= seconds:
                self.close()


class PostgresListener(_OnConnection):
    """Receives NOTIFY. After a lost connection is opened again, `ATTENTION` stands for what was missed."""

    def __init__(self, conninfo: str, profile: Profile) -> None:
        super().__init__(conninfo)
        self._profile = profile
        self._shown = ""
        self._closed = threading.Event()
        self._pause = RECONNECT_PAUSE_FIRST

    @property
    def address(self) -> str:
        """The number of the server's process, after which its channel is named."""
        return "" if self._connection is None else str(self._connection.info.backend_pid)

    def show(self, *, is_full: bool) -> None:
        label = self._profile.label(is_full=is_full)
        if self._connection is not None and label != self._shown:
            known = {"label": label, "pid": self._connection.info.backend_pid}
            with suppress(psycopg.Error):  # the next wait finds out
                self._connection.execute(statements.encoded("postgres", "session/show"), known, prepare=False)
            self._shown = label

    def wait(self, seconds: float) -> set[str]:
        try:
            if self._connection is not None:
                return {notice.payload for notice in self._connection.notifies(timeout=seconds, stop_after=1)}
            self._connection = dial(self._conninfo)
            self._connection.execute(statements.encoded("postgres", "session/listen"))
            self._shown = ""
            self.show(is_full=False)
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


class CommitWatch:
    """Calls back when a transaction of a caller has ended, from a thread that lives while there are any.

    It asks the driver, not the server. The longer a transaction has been open, the less often it looks. A connection
    that begins its next transaction between two looks is taken to be in the same one: polling finds that work.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: list[tuple[psycopg.Connection[Any], float, Callable[[], None]]] = []
        self._is_running = False

    def add(self, connection: psycopg.Connection[Any], call: Callable[[], None]) -> None:
        with self._lock:
            self._open.append((connection, time.monotonic(), call))
            if self._is_running:
                return
            self._is_running = True
        threading.Thread(target=self._run, name="leasehold-commits", daemon=True).start()

    def _run(self) -> None:
        while (newest := self._call_ended()) is not None:
            age = time.monotonic() - newest
            time.sleep(min(COMMIT_LOOK_SECONDS_MAX, max(COMMIT_LOOK_SECONDS_MIN, age * COMMIT_LOOK_SHARE)))

    def _call_ended(self) -> float | None:
        """Call back for each that has ended; return when the newest of the others was added, None if there is none."""
        with self._lock:
            ended = [one for one in self._open if not _is_open(one[0])]
            self._open = [one for one in self._open if one not in ended]
            self._is_running = bool(self._open)
            newest = max((since for _, since, _ in self._open), default=None)
        for _, _, call in ended:
            call()
        return newest


def _is_open(connection: psycopg.Connection[Any]) -> bool:
    return connection.info.transaction_status not in (TransactionStatus.IDLE, TransactionStatus.UNKNOWN)


COMMIT_WATCH: Final = CommitWatch()
