"""SQLite through a connection of the caller: apsw's, or the standard library's `sqlite3`. None is opened here.

The standard library brings a SQLite of its own, often an old one. What the engine needs of it is there since 3.40; but
before 3.51.3 two connections that reset a write-ahead log at once can damage the file, so such a file is refused.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import apsw

from leasehold.errors import ConnectionForeign, LeaseholdError, Misuse, SqliteTooOld
from leasehold.store.db.database import ErrorKind, Row
from leasehold.store.db.limits import BUSY_SECONDS
from leasehold.store.db.sqlite import VERSION_MIN, SqliteDialect, SqliteSession, translate
from leasehold.store.db.sqlite_wake import SocketListener, SocketNotifier
from leasehold.store.db.wake import WOKEN_MAX, Profile

STANDARD_VERSION_MIN: Final = (3, 40, 0)
UNHEX_VERSION: Final = (3, 41, 0)
RETRY: Final = (apsw.SQLITE_BUSY, apsw.SQLITE_LOCKED, apsw.SQLITE_SCHEMA)
PRIMARY: Final = 0xFF  # the primary part of a result code


class BorrowedDialect(SqliteDialect):
    """One connection of the caller, and how long to wait for other writers."""

    busy_seconds = BUSY_SECONDS

    def __init__(self, connection: object) -> None:
        self._connection = connection
        match connection:
            case apsw.Connection():
                super().__init__(Path(connection.filename))
            case sqlite3.Connection():
                databases = _query(connection, "PRAGMA database_list")
                self.path = Path(next((str(file) for _, name, file in databases if name == "main"), ""))
            case _:
                raise ConnectionForeign(
                    f"An apsw.Connection or a sqlite3.Connection is needed; this is {type(connection).__name__}."
                )

    @property
    def in_transaction(self) -> bool:  # type: ignore[override]
        try:
            return bool(getattr(self._connection, "in_transaction", False))
        except (sqlite3.ProgrammingError, apsw.ConnectionClosedError):  # the statement that follows reports it
            return False

    def exists(self) -> bool:
        return True

    def connect(self) -> SqliteSession:
        if isinstance(self._connection, sqlite3.Connection):
            _check_library(self._connection)
            return StandardSession(self._connection, own=False, path=self.path, busy_seconds=self.busy_seconds)
        return SqliteSession(self._connection, own=False, path=self.path, busy_seconds=self.busy_seconds)

    def adopt(self, connection: object) -> SqliteSession:
        if connection is not self._connection:
            raise ConnectionForeign("This app works on one connection of yours; this is another.")
        return self.connect()

    def listener(self, profile: Profile) -> SocketListener:  # noqa: ARG002
        raise Misuse("An app on a connection of yours runs no workers; open the file by its URL for that.")

    def notifier(self) -> SocketNotifier | NullNotifier:  # type: ignore[override]
        """Notify the workers of a file; a database in memory has none."""
        return NullNotifier() if self.path == Path() else SocketNotifier(self.path)

    def classify(self, error: Exception) -> ErrorKind | None:
        if isinstance(error, sqlite3.Error):
            return ErrorKind.RETRY if _code_of(error) in RETRY else ErrorKind.FINAL
        return super().classify(error)

    def translate(self, error: Exception) -> LeaseholdError:
        if isinstance(error, sqlite3.Error):
            return translate(_code_of(error), str(error), self.path)
        return super().translate(error)


class StandardSession(SqliteSession):
    @property
    def usable(self) -> bool:
        try:
            return isinstance(self._connection.total_changes, int)
        except sqlite3.ProgrammingError:
            return False

    def after_commit(self, call: Callable[[], None]) -> None:
        """Do nothing: sqlite3 has no hook for it, and polling finds the work."""

    def _define_all(self) -> None:
        super()._define_all()
        if sqlite3.sqlite_version_info < UNHEX_VERSION:
            self._define("unhex", bytes.fromhex, 1)

    def _is_unknown_name(self, error: Exception) -> bool:
        return isinstance(error, sqlite3.OperationalError) and _code_of(error) == apsw.SQLITE_ERROR

    def _define(self, name: str, function: Callable[..., Any], arguments: int) -> None:
        self._connection.create_function(name, arguments, function, deterministic=True)

    def _is_busy(self, error: Exception) -> bool:
        return isinstance(error, sqlite3.OperationalError) and _code_of(error) == apsw.SQLITE_BUSY

    def _execute(self, statement: str, values: Mapping[str, object] | None = None) -> list[Row]:
        connection = self._connection
        callers, connection.text_factory = connection.text_factory, str
        try:
            return _query(connection, statement, values)
        finally:
            connection.text_factory = callers


class NullNotifier:
    """A notifier of a database that has no listeners."""

    def send(self, hints: Iterable[str], sender: str = "", most: int = WOKEN_MAX) -> None:
        """Send nothing."""

    def close_rested(self, seconds: float) -> None:
        """Nothing is open."""

    def close(self) -> None:
        """Nothing is open."""


def _query(connection: sqlite3.Connection, statement: str, values: Mapping[str, object] | None = None) -> list[Row]:
    cursor = sqlite3.Cursor(connection)  # not the caller's own cursor class
    cursor.row_factory = None  # nor its row factory
    return cursor.execute(statement, values or {}).fetchall()


def _check_library(connection: sqlite3.Connection) -> None:
    found = sqlite3.sqlite_version_info
    if found < STANDARD_VERSION_MIN:
        raise SqliteTooOld(f"The sqlite3 of this Python has {sqlite3.sqlite_version}; open the file with apsw.")
    if found < VERSION_MIN and _query(connection, "PRAGMA main.journal_mode")[0][0] == "wal":
        raise SqliteTooOld(
            f"The file has a write-ahead log, and the sqlite3 of this Python is {sqlite3.sqlite_version}: open it with"
            " apsw, or take the log away with PRAGMA journal_mode = DELETE."
        )


def _code_of(error: sqlite3.Error) -> int:
    return int(getattr(error, "sqlite_errorcode", None) or 0) & PRIMARY
