"""The PostgreSQL dialect: any number of worker machines. A single operation is one statement in autocommit."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Final
from weakref import WeakSet

import psycopg
from psycopg import errors as pg
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

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
from leasehold.store.database import Row, Trouble, one_line
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
RECONNECT: Final = ("25006", "25P03", "25P04", "57P01", "57P02", "57P03", "57P05")
# A pooler has given this connection another server session, which does not know what was prepared on the last one.
UNPREPARED: Final = ("26000", "42P05")
# Rows are looked up by key. A scan looks cheap while a table is empty, and a plan made then is kept for a while.
# A process that is frozen inside a transaction of ours holds its rows no longer than the limit.
SETTINGS: Final = (
    "SET jit = off; SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_mergejoin = off;"
    " SET idle_in_transaction_session_timeout = '10s'"
)


class PostgresDialect:
    """Knows one PostgreSQL database by its URL."""

    name = "postgres"

    def __init__(self, url: str) -> None:
        try:
            given = psycopg.conninfo.conninfo_to_dict(url)
        except psycopg.Error as error:
            raise UrlInvalid(f"It cannot be read: {error}.") from None
        self.conninfo = psycopg.conninfo.make_conninfo(url, **{k: v for k, v in CONNECT.items() if k not in given})
        self._prepare_threshold: int | None = 5
        self._home: Row | None = None
        self._known: WeakSet[psycopg.Connection[Row]] = WeakSet()
        self._known_of = os.getpid()

    def connect(self) -> PostgresSession:
        """Open a connection of our own."""
        try:
            connection = psycopg.connect(self.conninfo, autocommit=True, prepare_threshold=self._prepare_threshold)
        except OSError as error:  # no descriptor to be had: the driver lets that through
            raise psycopg.OperationalError(str(error)) from error
        try:
            connection.execute(SETTINGS)
        except BaseException:
            connection.close()
            raise
        return PostgresSession(connection, own=True)

    def adopt(self, connection: object) -> PostgresSession:
        """Wrap the caller's psycopg connection, which must lead to the same database."""
        if not isinstance(connection, psycopg.Connection):
            raise ConnectionForeign(f"PostgreSQL needs a psycopg.Connection; this is {type(connection).__name__}.")
        session = PostgresSession(connection, own=False)
        if self._known_of != os.getpid():  # in a forked child none is known
            self._known, self._known_of = WeakSet(), os.getpid()
        if connection not in self._known:
            if session.home() != self._own_home():
                raise ConnectionForeign(f"It leads to {connection.info.dbname!r} on {connection.info.host!r}.")
            self._known.add(connection)
        return session

    def _own_home(self) -> Row:
        if self._home is None:
            session = self.connect()
            try:
                self._home = session.home()
            finally:
                session.close()
        return self._home

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
        if state in UNPREPARED:
            self._prepare_threshold = None
            return Trouble.RECONNECT
        if state in AGAIN:
            return Trouble.AGAIN
        if state in RECONNECT or state.startswith("08"):
            return Trouble.RECONNECT
        if not state and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
            return Trouble.RECONNECT
        return Trouble.FINAL

    def translate(self, error: Exception) -> LeaseholdError:
        """Turn a final psycopg error into one of ours."""
        said = f"PostgreSQL says: {one_line(error)}."
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
    pours = True

    def __init__(self, connection: psycopg.Connection[Row], *, own: bool) -> None:
        self._connection = connection
        self._own = own

    @property
    def raw(self) -> object:
        """The driver's own connection."""
        return self._connection

    @property
    def usable(self) -> bool:
        """Whether the connection is open."""
        return not self._connection.closed

    def run(self, name: str, /, **values: object) -> list[Row]:
        """Run a named operation and return its rows."""
        with psycopg.Cursor(self._connection, row_factory=tuple_row) as cursor:  # whatever the caller's makes
            cursor.execute(statements.text("postgres", name).encode(), values, binary=True)
            return cursor.fetchall() if cursor.description else []

    def pour(self, name: str, texts: Iterable[str]) -> None:
        """Add rows to a table by COPY, each a line of a text."""
        statement = statements.text("postgres", name).encode()
        with psycopg.Cursor(self._connection) as cursor, cursor.copy(statement) as copy:
            for text in texts:
                copy.write(text)

    def script(self, folder: str, name: str) -> None:
        """Run a file of definitions."""
        self._connection.execute(statements.text(folder, name).encode(), prepare=False)

    @contextmanager
    def atomic(self, *, write: bool) -> Iterator[None]:  # noqa: ARG002 — PostgreSQL needs no announcement
        """Make what runs inside one transaction."""
        with self._connection.transaction():
            yield
            if self._connection.info.transaction_status is TransactionStatus.INERROR:
                # The server would answer COMMIT by rolling back, and say nothing.
                raise Misuse("A statement of this transaction failed, so it cannot be committed; nothing was written.")

    def home(self) -> Row:
        """Name the database this leads to, wherever it has moved: the cluster's number and the database's."""
        with self._connection.transaction(), psycopg.Cursor(self._connection, row_factory=tuple_row) as cursor:
            rows: list[Row] = cursor.execute(statements.text("session", "home").encode()).fetchall()
        return rows[0]

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
