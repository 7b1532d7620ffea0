"""SQLite: one file, many processes of one host. Every write is BEGIN IMMEDIATE and synced before it is answered."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

import apsw

from leasehold import clock, errors
from leasehold.model.journal import hash_chain
from leasehold.store.db import guard, sqlite_clock, sqlite_wal, statements
from leasehold.store.db.database import ErrorKind, Row
from leasehold.store.db.limits import BUSY_SECONDS, STATEMENTS_KEPT, WAL_BYTES_MAX
from leasehold.store.db.sqlite_wake import SocketListener, SocketNotifier
from leasehold.store.db.wake import Profile

VERSION_MIN: Final = (3, 51, 3)
# Errors that a custom file system of the caller raises have no code.
CODES: Final[dict[type[Exception], int]] = {apsw.IOError: apsw.SQLITE_IOERR, apsw.FullError: apsw.SQLITE_FULL}
BUSY: Final = "another process is writing"
ELSEWHERE: Final = "if your app uses another database, give its --url or set LEASEHOLD_URL"
BOUND_TIME: Final = "leasehold_now"
STOP_IF_EMPTY: Final = frozenset({"leases/claim"})  # without rows from their first step there is nothing to do
_BOOT: Final = clock.boot_id()


class SqliteDialect:
    name = "sqlite"
    single_writer = True
    in_transaction = False

    def __init__(self, path: Path) -> None:
        self.path = path
        check_version(apsw.sqlite_lib_version())

    def exists(self) -> bool:
        """Whether the file has tables of ours. A connection of ours would make a file, and give it a WAL."""
        if not guard.is_file(self.path):
            raise errors.SchemaMissing(f"There is no file {self.path}; {ELSEWHERE}.")
        guard.protect(self.path)
        with ExitStack() as undo:
            undo.callback(guard.release, self.path)
            try:
                connection = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READWRITE)
                undo.callback(connection.close)
                connection.set_busy_handler(_busy_handler(BUSY_SECONDS))
                return bool(connection.execute(statements.steps("sqlite", "schema/exists")[0]).fetchall()[0][0])
            except apsw.Error as error:
                raise self.translate(error) from error

    def connect(self) -> SqliteSession:
        if not guard.is_folder(self.path.parent):
            raise errors.UrlInvalid(f"The folder {self.path.parent} does not exist.")
        guard.protect(self.path)
        with ExitStack() as undo:
            undo.callback(guard.release, self.path)
            connection = apsw.Connection(str(self.path), statementcachesize=STATEMENTS_KEPT)
            undo.callback(connection.close)
            session = SqliteSession(connection, own=True, path=self.path)
            guard.recognise(self.path)
            undo.pop_all()  # from now on the session closes and releases
        return session

    def adopt(self, connection: object) -> SqliteSession:
        """Wrap the caller's apsw connection, which must lead to the same file."""
        if not isinstance(connection, apsw.Connection):
            raise errors.ConnectionForeign(f"SQLite needs an apsw.Connection; this is {type(connection).__name__}.")
        try:
            same = self.path.samefile(connection.filename)
        except OSError:
            same = False
        if not same:
            raise errors.ConnectionForeign(f"It leads to {connection.filename or 'memory'}, not to {self.path}.")
        return SqliteSession(connection, own=False, path=self.path)

    def listener(self, profile: Profile) -> SocketListener:
        return SocketListener(self.path, profile)

    def notifier(self) -> SocketNotifier:
        return SocketNotifier(self.path)

    def truncate_wal(self) -> bool:
        if sqlite_wal.size(self.path) <= WAL_BYTES_MAX:
            return False
        try:
            with closing(self.connect()) as session:
                return session.truncate_wal()
        except apsw.Error as error:
            raise self.translate(error) from error

    def classify(self, error: Exception) -> ErrorKind | None:
        if isinstance(error, apsw.BusyError | apsw.LockedError | apsw.SchemaChangeError):
            return ErrorKind.RETRY
        return ErrorKind.FINAL if isinstance(error, apsw.Error) else None

    def translate(self, error: Exception) -> errors.LeaseholdError:
        code = getattr(error, "result", 0) or CODES.get(type(error), 0)
        return translate(code, str(error), self.path)


def translate(code: int, message: str, path: Path) -> errors.LeaseholdError:
    text = f"SQLite: {message}."
    match code:
        case apsw.SQLITE_CORRUPT | apsw.SQLITE_CONSTRAINT:
            return errors.Broken(text)
        case apsw.SQLITE_ERROR if "no such table" in text:
            return errors.SchemaMissing(text)
        case apsw.SQLITE_TOOBIG | apsw.SQLITE_MISMATCH:
            return errors.ResultRefused(text)
        case _:
            return _translate_file_error(code, text, path) or errors.Misuse(text)


def _translate_file_error(code: int, text: str, path: Path) -> errors.LeaseholdError | None:
    match code:
        case apsw.SQLITE_READONLY | apsw.SQLITE_PERM | apsw.SQLITE_AUTH:
            return errors.RightsMissing(f"{path} cannot be written; {guard.FILE_REMEDY} {text}")
        case apsw.SQLITE_CANTOPEN if guard.is_denied(path):
            return errors.RightsMissing(f"{path} cannot be opened; {guard.FILE_REMEDY} {text}")
        case apsw.SQLITE_NOTADB | apsw.SQLITE_CANTOPEN:
            return errors.UrlInvalid(f"{path} cannot be opened. {text}")
        case apsw.SQLITE_FULL:
            return errors.DiskFull(f"It holds {path}. {text}")
        case apsw.SQLITE_IOERR:
            kind = errors.DiskFull if guard.is_disk_full(path) else errors.DatabaseUnavailable
            return kind(text)
        case _:
            return None


def check_version(found: str) -> None:
    """Refuse a SQLite library with the WAL-reset bug."""
    if tuple(int(part) for part in found.split(".")[:3]) < VERSION_MIN:
        raise errors.SqliteTooOld(f"This one is {found}.")


def keep_plans(connection: apsw.Connection) -> None:
    """Make plans independent of values: else a new number in a LIMIT prepares the statement again."""
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)


@cache
def _with_bound_time(name: str) -> tuple[str, ...]:
    """Return an operation's steps with the time as a parameter: calling a function would take the GIL."""
    return tuple(step.replace("leasehold_now()", f":{BOUND_TIME}") for step in statements.steps("sqlite", name))


class _TransactionTime:
    """The time of the open transaction. The connection refers to it, and it to nothing: no reference cycle."""

    now = 0

    def read(self, *_: object) -> int:
        return self.now


class SqliteSession:
    """One apsw connection, ours or the caller's."""

    supports_copy = False

    def __init__(self, connection: Any, *, own: bool, path: Path, busy_seconds: float = BUSY_SECONDS) -> None:
        self._connection = connection
        self._busy_seconds = busy_seconds
        self._own = own
        self._path = path
        self._time = _TransactionTime()
        if own:
            self._set_up()
        self._define_all()
        self.script("session/scratch")

    def _define_all(self) -> None:
        self._define("leasehold_now", self._time.read, 0)
        self._define("leasehold_link", hash_chain.mark, 7)
        self._define("leasehold_links", hash_chain.marks, 1)
        self._define("leasehold_root", hash_chain.root, len(hash_chain.FACTS))

    def _define(self, name: str, function: Callable[..., Any], arguments: int) -> None:
        self._connection.create_scalar_function(name, function, arguments, deterministic=True)

    def _set_up(self) -> None:
        self._connection.set_busy_handler(_busy_handler(self._busy_seconds))
        keep_plans(self._connection)
        self.script("session/pragmas")

    @property
    def raw(self) -> object:
        return self._connection

    @property
    def usable(self) -> bool:
        try:
            return not self._connection.is_interrupted
        except apsw.ConnectionClosedError:
            return False

    @property
    def in_transaction(self) -> bool:
        return bool(self._connection.in_transaction)

    def after_commit(self, call: Callable[[], None]) -> None:
        """Call this at the moment of the commit: a worker that is woken waits for the lock until it is over."""

        def on_commit() -> bool:
            self._connection.set_commit_hook(None, id=on_commit)
            with suppress(Exception):  # an error here would roll the caller's transaction back
                call()
            return False

        self._connection.set_commit_hook(on_commit, id=on_commit)

    def run(self, name: str, /, **values: object) -> list[Row]:
        """Run a named operation step by step and return the rows of the step that has some."""
        steps = _with_bound_time(name)
        values[BOUND_TIME] = self._time.now
        if name in STOP_IF_EMPTY:
            self._execute(steps[0], values)
            if not self._execute(statements.steps("sqlite", "session/taken")[0]):
                return []
            steps = steps[1:]
        rows: list[Row] = []
        for step in steps:
            rows = self._execute(step, values) or rows
        return rows

    def copy_in(self, name: str, texts: Iterable[str]) -> None:
        raise NotImplementedError

    def script(self, name: str) -> None:
        for step in statements.steps("sqlite", name):
            self._execute(step)

    def _execute(self, statement: str, values: Mapping[str, object] | None = None) -> list[Row]:
        cursor = apsw.Cursor(self._connection)  # not the caller's own cursor class
        cursor.row_trace = cursor.exec_trace = None  # nor its tracers
        try:
            return cursor.execute(statement, values).fetchall()
        except (apsw.BusyError, apsw.LockedError) as error:
            raise type(error)(BUSY) from error

    @contextmanager
    def atomic(self, *, write: bool) -> Iterator[None]:
        """Make what runs inside one transaction, with one time for all of it."""
        nested = self.in_transaction
        self._execute_with_retry("SAVEPOINT leasehold" if nested else "BEGIN IMMEDIATE" if write else "BEGIN")
        try:
            self._set_time(write=write)
            yield
            self._execute_with_retry("RELEASE leasehold" if nested else "COMMIT")  # without WAL, readers block it
        except BaseException:
            if self._connection.in_transaction:
                self._execute("ROLLBACK TO leasehold" if nested else "ROLLBACK")
            if nested and self._connection.in_transaction:
                self._execute("RELEASE leasehold")
            raise

    def _execute_with_retry(self, statement: str) -> None:
        if self._own:  # it has a busy handler
            self._execute(statement)
            return
        wait = _busy_handler(self._busy_seconds)
        for tries in itertools.count():  # the caller's connection may have no busy handler
            try:
                self._execute(statement)
                return
            except Exception as error:
                if not self._is_busy(error) or not wait(tries):
                    raise

    def _is_busy(self, error: Exception) -> bool:
        return isinstance(error, apsw.BusyError)

    def _host(self) -> sqlite_clock.Reading:
        return sqlite_clock.Reading(_BOOT, clock.wall(), clock.uptime())

    def _set_time(self, *, write: bool) -> None:
        host = self._host()
        try:
            self._time.now = self._read_clock(host, write=write)
        except Exception as error:
            if not self._is_unknown_name(error):
                raise
            self._time.now = host.wall  # before the first migration there is no anchor

    def _is_unknown_name(self, error: Exception) -> bool:
        return isinstance(error, apsw.SQLError)

    def _read_clock(self, host: sqlite_clock.Reading, *, write: bool) -> int:
        found = self._execute(statements.steps("sqlite", "session/clock_read")[0])
        anchor = sqlite_clock.decode(found[0][0]) if found else None
        if anchor is None or sqlite_clock.is_stale(anchor, host):
            last = self._execute(statements.steps("sqlite", "session/clock_last")[0])
            anchor = sqlite_clock.make_anchor(anchor, host, last[0][0] if last else 0)
            if write:
                stored = {"value": sqlite_clock.encode(anchor)}
                self._execute(statements.steps("sqlite", "session/clock_write")[0], stored)
        return sqlite_clock.now(anchor, host)

    def set_clock(self, now: int) -> None:
        stored = {"value": sqlite_clock.encode(sqlite_clock.Anchor(manual=now))}
        self._execute(statements.steps("sqlite", "session/clock_write")[0], stored)

    def truncate_wal(self) -> bool:
        return self._own and sqlite_wal.truncate(self._connection)

    def close(self) -> None:
        if self._own:
            self._connection.close(force=True)  # errors of unfinished statements do not matter any more
            guard.release(self._path)


def _busy_handler(seconds: float) -> Callable[[int], bool]:
    """Return a busy handler that waits in short, uneven steps, so that no process is always last."""
    started = [0.0]

    def wait(tries: int) -> bool:
        now = time.monotonic()
        if tries == 0:
            started[0] = now
        time.sleep(random.uniform(0.0005, 0.002 + min(tries, 20) * 0.001))
        return now - started[0] < seconds

    return wait
