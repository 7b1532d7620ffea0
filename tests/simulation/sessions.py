"""Connections of virtual processes to one SQLite database, with a point around every transaction.

The statements, the transactions and the locks are SQLite's own; the time is the world's. Errors that only PostgreSQL
makes are raised as psycopg raises them and judged by our own dialect for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw
import psycopg
from psycopg import errors as pg

from leasehold.errors import LeaseholdError
from leasehold.store import Store
from leasehold.store.database import Database, Row, Trouble
from leasehold.store.postgres import PostgresDialect
from leasehold.store.sqlite import STATEMENTS_KEPT, SqliteDialect, SqliteSession
from tests.simulation.world import Fault, Killed, Process, World

NO_PROCESS = 2**22 + 1
RAISED: dict[Fault, type[Exception]] = {
    Fault.BUSY: apsw.BusyError,
    Fault.SERIALIZATION: pg.SerializationFailure,
    Fault.DEADLOCK: pg.DeadlockDetected,
    Fault.READ_ONLY: pg.ReadOnlySqlTransaction,
    Fault.LOST: psycopg.OperationalError,
}


class Session(SqliteSession):
    """One connection; it is used again by other processes of later worlds."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._process: Process | None = None
        self._done = 0
        connection = apsw.Connection(str(file.path), statementcachesize=STATEMENTS_KEPT)
        super().__init__(connection, own=True, path=file.path)

    def _set_up(self) -> None:
        for pragma in ("journal_mode = WAL", "synchronous = OFF", "temp_store = MEMORY", "cache_size = -8192"):
            self._connection.execute(f"PRAGMA {pragma}")

    def serve(self, process: Process) -> Session:
        """Belong to a process from now on."""
        self._process = process
        return self

    def _tell_time(self, *, write: bool) -> None:
        self._now = self._file.world.now

    def _pass(self, kind: str, what: str) -> None:
        fault = self._file.world.at(kind, what)
        if fault is not Fault.NONE:
            raise RAISED[fault](f"simulated: {fault}")

    def run(self, name: str, /, **values: object) -> list[Row]:
        if self._file.world.is_idle:
            return super().run(name, **values)
        self._done += 1
        self._file.what = name
        if self._done > 1:
            self._pass("within", name)
        return super().run(name, **values)

    @contextmanager
    def atomic(self, *, write: bool) -> Iterator[None]:
        if self._connection.in_transaction or self._file.world.is_idle:
            with super().atomic(write=write):
                yield
            return
        self._done = 0
        self._pass("begin", "a transaction" if write else "a read")
        with super().atomic(write=write):
            yield
        self._file.writes += write
        self._pass("answer", self._file.what)

    def close(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        self._file.idle.append(self)


class Dialect(SqliteDialect):
    """The file as one virtual process reaches it."""

    def __init__(self, file: File, process: Process) -> None:
        super().__init__(file.path)
        self._file = file
        self._process = process

    def connect(self) -> SqliteSession:
        if self._process.is_dead:
            raise Killed
        session = self._file.idle.pop() if self._file.idle else Session(self._file)
        return session.serve(self._process)

    def judge(self, error: Exception) -> Trouble | None:
        return POSTGRES.judge(error) if isinstance(error, psycopg.Error) else super().judge(error)

    def translate(self, error: Exception) -> LeaseholdError:
        return POSTGRES.translate(error) if isinstance(error, psycopg.Error) else super().translate(error)


POSTGRES = PostgresDialect("postgresql://nowhere/simulated")


class File:
    """One database file that world after world is simulated on."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.idle: list[Session] = []
        self.world: World
        self.what = ""
        self.writes = 0
        self._gone: list[int] = []
        with closing(Store("", Database(SqliteDialect(path), connections=1))) as store:
            store.migrate()
        self._eye = apsw.Connection(str(path))
        self._eye.execute("PRAGMA synchronous = OFF")
        self._eye.execute("CREATE TABLE booked (task INTEGER)")
        names = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'meta'"
        self._tables = [str(row[0]) for row in self._eye.execute(names).fetchall()]

    def begin(self, world: World) -> None:
        """Empty the file for another world."""
        self.world = world
        self._gone.clear()
        self._eye.execute("BEGIN IMMEDIATE")
        for table in self._tables:
            self._eye.execute(f"DELETE FROM {table}")  # noqa: S608
        self._eye.execute("DELETE FROM sqlite_sequence")
        self._eye.execute("COMMIT")

    def store(self, process: Process) -> Store:
        """Open the file in a process."""
        return Store("", Database(Dialect(self, process), connections=64, wait=self._wait))

    def _wait(self, seconds: float) -> bool:
        self.world.sleep(seconds)
        return False

    def look(self, query: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Read the tables as they are, past the engine."""
        return self._eye.execute(query, values).fetchall()

    def bury(self, worker: int) -> None:
        """Have a worker's process be gone, as the kernel would tell; at once, or when nobody is writing."""
        self._gone.append(worker)
        self.tell_deaths()

    def tell_deaths(self) -> None:
        """Write down which processes are gone, unless somebody is writing now."""
        with suppress(apsw.BusyError):
            while self._gone:
                self._eye.execute("UPDATE worker SET pid = ? WHERE id = ?", (NO_PROCESS, self._gone[0]))
                self._gone.pop(0)

    def close(self) -> None:
        for session in self.idle:
            SqliteSession.close(session)
        self._eye.close()
