"""Connections of virtual processes to one SQLite database, with a point around every transaction.

The statements, the transactions and the locks are SQLite's own, and so is the clock of a file; only the
host's clocks are the world's: one uptime, and a wall clock for each process. Errors that only PostgreSQL makes are
raised as psycopg raises them and judged by our own dialect for it.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any
from zlib import crc32

import apsw
import psycopg
from psycopg import errors as pg

from leasehold.errors import LeaseholdError
from leasehold.runtime.claim.pending_file import PendingFile
from leasehold.store import Store
from leasehold.store.db import sqlite_clock
from leasehold.store.db.database import Database, ErrorKind, Row
from leasehold.store.db.limits import STATEMENTS_KEPT
from leasehold.store.db.postgres import PostgresDialect
from leasehold.store.db.sqlite import SqliteDialect, SqliteSession, keep_plans
from tests.simulation.world import SECOND, Fault, Killed, Process, World
from tests.support.oracle.triggers import install_audit_triggers

NO_PROCESS = 2**22 + 1
PAGE_BYTES = 512  # the fewest: whatever one connection writes is read again by all the others, page by page
PRAGMAS = (
    "journal_mode = WAL",
    "synchronous = OFF",
    "temp_store = MEMORY",
    "cache_size = -8192",
    "wal_autocheckpoint = 4000",
)
RAISED: dict[Fault, type[Exception]] = {
    Fault.BUSY: apsw.BusyError,
    Fault.SERIALIZATION: pg.SerializationFailure,
    Fault.DEADLOCK: pg.DeadlockDetected,
    Fault.READ_ONLY: pg.ReadOnlySqlTransaction,
    Fault.LOST: psycopg.OperationalError,
}


def connect(path: Path) -> apsw.Connection:
    """Open the file for this process alone: its connections lock each other out as ever, in memory."""
    return apsw.Connection(str(path), vfs="unix-excl", statementcachesize=STATEMENTS_KEPT)


def announce_free(world: World) -> None:
    """Have the engine's own uneven pauses depend on who makes one and when, not on how many others made before."""
    actor = world.running
    random.seed(crc32(actor.label.encode()) + actor.points)


class Connection(SqliteSession):
    """One connection of the engine's to the file. `process`: whose transaction it has; `lead`: see `World.lead`."""

    def __init__(self, file: File, idle: list[Connection]) -> None:
        self._file = file
        self.idle = idle
        self.process: Process | None = None
        self.lead = 0
        super().__init__(connect(file.path), own=True, path=file.path)

    def _set_up(self) -> None:
        keep_plans(self._connection)
        for pragma in PRAGMAS:
            self._connection.execute(f"PRAGMA {pragma}")

    def _set_time(self, *, write: bool) -> None:
        """Read the engine's time, and hold it against what it must be: the furthest clock of all who wrote."""
        world = self._file.world
        super()._set_time(write=write)
        assert self.process is not None
        ahead = world.wall(self.process) - world.uptime
        self.lead = ahead if world.lead is None else max(ahead, world.lead)
        if write:
            world.lead_next = self.lead
        wrong = self._time.now - world.uptime - self.lead
        if wrong:
            world.wrongs.append(f"CLOCK: {self.process.name} read a time that is {wrong / SECOND:+} s off")

    def _host(self) -> sqlite_clock.Reading:
        assert self.process is not None
        return sqlite_clock.Reading("one boot", self._file.world.wall(self.process), self._file.world.uptime)

    @contextmanager
    def part(self, *, write: bool) -> Iterator[None]:
        """A part of a transaction: one that is undone has not moved the clock."""
        before = self.lead
        try:
            with self.atomic(write=write):
                yield
        except BaseException:
            self.lead = before
            raise


class Session:
    """What a process has for a connection: with each transaction it takes one that this part of a process uses.

    Transactions that overlap have one each, as anywhere. One that comes after another finds its statements prepared,
    since a part has few of its own: to prepare them is most of what a short transaction costs.
    """

    supports_copy = False
    usable = True

    def __init__(self, file: File, process: Process) -> None:
        self._file = file
        self._process = process
        self._held: Connection | None = None
        self._done = 0

    @property
    def raw(self) -> object:
        return self._open.raw

    @property
    def in_transaction(self) -> bool:
        return self._held is not None

    def after_commit(self, call: Callable[[], None]) -> None:
        raise NotImplementedError

    @property
    def _open(self) -> Connection:
        assert self._held is not None, "a statement outside a transaction"
        return self._held

    def run(self, name: str, /, **values: object) -> list[Row]:
        self._done += 1
        self._file.what = name
        if self._done > 1:
            self._pass("within", name)
        return self._open.run(name, **values)

    def atomic(self, *, write: bool) -> AbstractContextManager[None]:
        if self._held is not None:
            return self._held.part(write=write)
        return Transaction(self, write=write)

    def begin(self, *, write: bool) -> AbstractContextManager[None]:
        """Pass the point before a transaction, and return the engine's own."""
        self._done = 0
        self._pass("begin", "a transaction" if write else "a read")
        idle = self._file.idle[self._file.world.running.part]
        held = self._held = idle.pop() if idle else Connection(self._file, idle)
        held.process = self._process
        return held.atomic(write=write)

    def end(self) -> int:
        """Let the connection go, and return the lead with which it read the time."""
        held, self._held = self._open, None
        held.process = None
        held.idle.append(held)
        return held.lead

    def answer(self, lead: int, *, write: bool) -> None:
        """Pass the point after a transaction that was committed."""
        if write:
            self._file.writes += 1
            self._file.world.lead = lead  # who writes next finds the clock no less far ahead
        self._pass("answer", self._file.what)

    def _pass(self, kind: str, what: str) -> None:
        fault = self._file.world.at(kind, what)
        if fault is not Fault.NONE:
            announce_free(self._file.world)
            raise RAISED[fault](f"simulated: {fault}")

    def close(self) -> None:
        """Nothing is held between transactions."""

    def script(self, name: str) -> None:
        raise NotImplementedError

    def set_clock(self, now: int) -> None:
        raise NotImplementedError

    def copy_in(self, name: str, texts: Iterable[str]) -> None:
        raise NotImplementedError


class Transaction:
    """A transaction between two points."""

    def __init__(self, session: Session, *, write: bool) -> None:
        self._session = session
        self._write = write

    def __enter__(self) -> None:
        self._engine = self._session.begin(write=self._write)
        try:
            self._engine.__enter__()
        except BaseException:
            self._session.end()
            raise

    def __exit__(self, sort: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            self._engine.__exit__(sort, error, at)
        finally:
            lead = self._session.end()
        if error is None:
            self._session.answer(lead, write=self._write)


class Dialect(SqliteDialect):
    """The file as one virtual process reaches it."""

    def __init__(self, file: File, process: Process) -> None:
        super().__init__(file.path)
        self._file = file
        self._process = process

    def connect(self) -> Session:  # type: ignore[override]
        if self._process.is_dead:
            raise Killed
        return Session(self._file, self._process)

    def notifier(self) -> Notifier:  # type: ignore[override]
        return Notifier(self._file)

    def classify(self, error: Exception) -> ErrorKind | None:
        return POSTGRES.classify(error) if isinstance(error, psycopg.Error) else super().classify(error)

    def translate(self, error: Exception) -> LeaseholdError:
        return POSTGRES.translate(error) if isinstance(error, psycopg.Error) else super().translate(error)


POSTGRES = PostgresDialect("postgresql://nowhere/simulated")


class Notifier:
    """Sends names to every listener of the file; a wake-up may be lost, and may come twice."""

    def __init__(self, file: File) -> None:
        self._file = file

    def send(self, words: Iterable[str], sender: str = "", most: int = 2) -> None:
        names = frozenset(words)
        for notify in self._file.listeners.values():
            notify(names, self._file.world.hint())

    def close_rested(self, seconds: float) -> None:
        """Nothing is open."""

    def close(self) -> None:
        """Nothing is left to be sent."""


class File:
    """One database file that world after world is simulated on."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.idle: dict[str, list[Connection]] = defaultdict(list)  # by part of a process
        self.listeners: dict[Process, Callable[[frozenset[str], int], None]] = {}
        self.world: World
        self.what = ""
        self.writes = 0
        self._gone: list[int] = []
        self.pending: dict[str, PendingFile] = {}  # what outlives a process
        with closing(apsw.Connection(str(path))) as connection:
            connection.execute(f"PRAGMA page_size = {PAGE_BYTES}; PRAGMA journal_mode = WAL").fetchall()
        with closing(Store("", Database(SqliteDialect(path), connections=1))) as store:
            store.migrate()
        self._eye = connect(path)
        self._eye.execute("PRAGMA synchronous = OFF")
        self._eye.execute("CREATE TABLE booked (task INTEGER)")
        install_audit_triggers(self._eye, "sqlite")
        names = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'meta'"
        tables = [str(row[0]) for row in self._eye.execute(names).fetchall()]
        self._used = " UNION ALL ".join(f"SELECT '{one}' WHERE EXISTS (SELECT 1 FROM {one})" for one in tables)  # noqa: S608

    def begin(self, world: World) -> None:
        """Empty the file for another world."""
        self.world = world
        self._gone.clear()
        self.pending.clear()
        self.listeners.clear()
        self._eye.execute("BEGIN IMMEDIATE")
        for (table,) in self.look(self._used):  # to empty one that is empty would write its pages all the same
            self._eye.execute(f"DELETE FROM {table}")  # noqa: S608
        self._eye.execute("DELETE FROM sqlite_sequence")
        self._eye.execute("DELETE FROM meta WHERE name = 'clock'")
        self._eye.execute("COMMIT")

    def read_pending(self, name: str | None) -> frozenset[tuple[int, int]]:
        """Read what a process had claimed and not begun."""
        return self.pending[name].taken() if name in self.pending else frozenset()

    def store(self, process: Process) -> Store:
        """Open the file in a process."""
        return Store("", Database(Dialect(self, process), connections=64, wait=self._wait))

    def _wait(self, seconds: float) -> bool:
        self.world.sleep(seconds)
        return False

    def look(self, query: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Read the tables as they are, past the engine."""
        return self._eye.execute(query, values).fetchall()

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """Read the tables as they are at one moment."""
        self._eye.execute("BEGIN")
        try:
            yield
        finally:
            self._eye.execute("COMMIT")

    def bury(self, worker: int) -> None:
        """Have a worker's process be gone, as the kernel would report; at once, or when nobody is writing."""
        self._gone.append(worker)
        self.write_deaths()

    def write_deaths(self) -> None:
        """Write down which processes are gone, unless somebody is writing now."""
        with suppress(apsw.BusyError):
            while self._gone:
                self._eye.execute("UPDATE worker SET pid = ? WHERE id = ?", (NO_PROCESS, self._gone[0]))
                self._gone.pop(0)

    def close(self) -> None:
        for connection in chain.from_iterable(self.idle.values()):
            connection.close()
        self._eye.close()
