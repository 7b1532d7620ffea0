"""The PostgreSQL dialect: any number of worker machines. A single operation is one statement in autocommit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

import psycopg
from psycopg import errors as pg

from leasehold.errors import (
    Broken,
    ConnectionForeign,
    DatabaseUnavailable,
    LeaseholdError,
    Misuse,
    ResultRefused,
    SchemaMissing,
    UrlInvalid,
)
from leasehold.store import statements
from leasehold.store.database import Row, Trouble
from leasehold.store.postgres_wake import ListenEar, NotifyMouth
from leasehold.store.wake import GatheringMouth

CONNECT: Final[dict[str, str | int]] = {
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
    "application_name": "leasehold",
}
AGAIN: Final = ("40001", "40P01", "55P03", "53300", "57014")
RECONNECT: Final = ("25006", "57P01", "57P02", "57P03", "57P05")
# A hash or merge join over a batch reads a whole table; index look-ups read the batch. `jit` costs more than it saves.
SETTINGS: Final = "SET jit = off"


class PostgresDialect:
    """Knows one PostgreSQL database by its URL."""

    name = "postgres"

    def __init__(self, url: str) -> None:
        try:
            given = psycopg.conninfo.conninfo_to_dict(url)
        except psycopg.Error as error:
            raise UrlInvalid(f"It cannot be read: {error}.") from None
        self.conninfo = psycopg.conninfo.make_conninfo(url, **{k: v for k, v in CONNECT.items() if k not in given})

    def connect(self) -> PostgresSession:
        """Open a connection of our own."""
        connection = psycopg.connect(self.conninfo, autocommit=True)
        connection.execute(SETTINGS)
        return PostgresSession(connection, own=True)

    def adopt(self, connection: object) -> PostgresSession:
        """Wrap the caller's psycopg connection."""
        if not isinstance(connection, psycopg.Connection):
            raise ConnectionForeign(f"PostgreSQL needs a psycopg.Connection; this is {type(connection).__name__}.")
        return PostgresSession(connection, own=False)

    def ear(self) -> ListenEar:
        """Hear wake-ups of this database."""
        return ListenEar(self.conninfo)

    def mouth(self) -> GatheringMouth:
        """Send wake-ups to this database's ears."""
        return GatheringMouth(NotifyMouth(self.conninfo))

    def judge(self, error: Exception) -> Trouble | None:
        """Tell what a psycopg error means."""
        if not isinstance(error, psycopg.Error):
            return None
        state = error.sqlstate or ""
        if state in AGAIN:
            return Trouble.AGAIN
        if state in RECONNECT or state.startswith("08"):
            return Trouble.RECONNECT
        if not state and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
            return Trouble.RECONNECT
        return Trouble.FINAL

    def translate(self, error: Exception) -> LeaseholdError:
        """Turn a final psycopg error into one of ours."""
        said = f"PostgreSQL says: {' '.join(str(error).split())[:300]}."
        match error:
            case pg.UndefinedTable() | pg.InvalidSchemaName() | pg.UndefinedFunction() | pg.UndefinedColumn():
                return SchemaMissing(said)
            case pg.InsufficientPrivilege() | pg.DiskFull() | pg.OutOfMemory() | pg.IoError():
                return DatabaseUnavailable(said)
            case psycopg.DataError():
                return ResultRefused(said)
            case psycopg.IntegrityError():
                return Broken(said)
            case _:
                return Misuse(said)


class PostgresSession:
    """One psycopg connection, ours or the caller's."""

    needs_brackets = False

    def __init__(self, connection: psycopg.Connection[Row], *, own: bool) -> None:
        self._connection = connection
        self._own = own

    def run(self, name: str, /, **values: object) -> list[Row]:
        """Run a named operation and return its rows."""
        with self._connection.cursor(binary=True) as cursor:
            cursor.execute(statements.text("postgres", name).encode(), values)
            return cursor.fetchall() if cursor.description else []

    def script(self, folder: str, name: str) -> None:
        """Run a file of definitions."""
        self._connection.execute(statements.text(folder, name).encode(), prepare=False)

    @contextmanager
    def atomic(self, *, write: bool) -> Iterator[None]:  # noqa: ARG002 — PostgreSQL needs no announcement
        """Make what runs inside one transaction."""
        with self._connection.transaction():
            yield

    def set_clock(self, now: int) -> None:
        """Stop this database's clock at `now`, for tests."""
        if self._connection.execute(statements.text("session", "postgres_clock_found").encode()).fetchall() != [
            (True,)
        ]:
            self.script("session", "postgres_clock")
        self._connection.execute(statements.text("session", "postgres_clock_set").encode(), {"now": now})

    def close(self) -> None:
        """Close our own connection; the caller's is left alone."""
        if self._own:
            with suppress(psycopg.Error):
                self._connection.close()
