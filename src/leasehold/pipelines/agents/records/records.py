"""Records: the tables of the agents pipeline. Every change is one transaction, repeated where nothing had happened.

    records = open_records("sqlite:///leasehold.db")
    records.migrate()
    records.write(lambda transaction: transaction.run("token/find", child_id="a"))

`transaction.connection` is the driver's own, which `app.transaction(…)` joins: rows and engine jobs commit together.
"""

import random
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, TypeVar

from leasehold.errors import UrlInvalid
from leasehold.pipelines.agents.errors import REFUSALS, RecordsMissing, RecordsRefused, RecordsUnavailable, UrmError
from leasehold.pipelines.agents.records.backends import (
    PACKAGE,
    Backend,
    Kind,
    PostgresBackend,
    Refusal,
    Row,
    SqliteBackend,
)
from leasehold.pipelines.agents.records.limits import (
    IDLE_CONNECTIONS_MAX,
    PAGE,
    RETRY_PAUSE_FIRST,
    RETRY_PAUSE_MAX,
    RETRY_SECONDS,
)

T = TypeVar("T")
SQLITE: Final = "sqlite:///"
# Two requests with one id at the same time: the second is repeated, and finds the answer of the first.
REPEATED: Final = "urm_request.client_request_id"


class Transaction:
    """One open transaction. `connection` is the driver's own connection."""

    def __init__(self, backend: Backend, connection: Any) -> None:
        self._backend = backend
        self.connection = connection
        self.dialect = backend.name

    def run(self, name: str, /, **values: Any) -> list[Row]:
        """Run the statement of a file, `noun/operation`, and return its rows."""
        return self._backend.run(self.connection, name, values)

    def pages(self, name: str, column: int, after: Any, **values: Any) -> Iterator[Row]:
        """Yield the rows of a statement that returns a page after a value of one of its columns."""
        while rows := self.run(name, after=after, rows_max=PAGE, **values):
            yield from rows
            after = rows[-1][column]

    def script(self, name: str) -> None:
        self._backend.script(self.connection, name)


class AgentRecords:
    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self._idle: list[Any] = []
        self._lock = threading.Lock()

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` in one transaction. It is called again after an error that left nothing behind."""
        return self._repeat(work, write=True)

    def read(self, work: Callable[[Transaction], T]) -> T:
        """Run reads on one state of the database."""
        return self._repeat(work, write=False)

    def migrate(self) -> int:
        """Make or extend the tables; return their version."""
        return self.write(_migrate)

    def version(self) -> int:
        """Return the version of the tables; 0 if there are none."""
        return self.read(_version)

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _repeat(self, work: Callable[[Transaction], T], *, write: bool) -> T:
        deadline, pause = time.monotonic() + RETRY_SECONDS, RETRY_PAUSE_FIRST
        while True:
            try:
                return self._once(work, write=write)
            except Exception as error:
                found = self.backend.explain(error)
                if found is None:
                    raise
                if not _may_repeat(found) or time.monotonic() > deadline:
                    raise _ours(found) from error
            time.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2 * pause, RETRY_PAUSE_MAX)

    def _once(self, work: Callable[[Transaction], T], *, write: bool) -> T:
        connection = self._take()
        is_done = False
        try:
            with self.backend.transaction(connection, write=write):
                found = work(Transaction(self.backend, connection))
                is_done = True
        except Exception as error:
            meant = self.backend.explain(error)
            if meant is None or meant.kind is not Kind.LOST:
                self._give_back(connection)
                raise
            connection.close()
            if is_done and write:
                raise RecordsUnavailable("The connection ended during COMMIT: it may have been written.") from error
            raise
        except BaseException:
            connection.close()
            raise
        self._give_back(connection)
        return found

    def _take(self) -> Any:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return self.backend.connect()

    def _give_back(self, connection: Any) -> None:
        with self._lock:
            if len(self._idle) < IDLE_CONNECTIONS_MAX:
                self._idle.append(connection)
                return
        connection.close()


def open_records(url: str) -> AgentRecords:
    """Open the tables in the engine's database; nothing is made or changed."""
    if url.startswith(SQLITE):
        return AgentRecords(SqliteBackend(Path(url.removeprefix(SQLITE))))
    if url.startswith(("postgresql:", "postgres:")):
        return AgentRecords(PostgresBackend(url))
    raise UrlInvalid


@cache
def migrations(dialect: str) -> tuple[str, ...]:
    """Return the names of the migrations, in order."""
    folder = files(PACKAGE) / "sql" / "records" / dialect / "migrations"
    return tuple(sorted(entry.name.removesuffix(".sql") for entry in folder.iterdir() if entry.name.endswith(".sql")))


def _version(transaction: Transaction) -> int:
    if not transaction.run("schema/exists")[0][0]:
        return 0
    found: int = transaction.run("schema/version")[0][0]
    return found


def _migrate(transaction: Transaction) -> int:
    transaction.run("schema/lock")
    transaction.run("schema/make")
    known = migrations(transaction.dialect)
    found = _version(transaction)
    if found > len(known):
        raise RecordsMissing("A newer Leasehold made them; upgrade this one.", found=found, known=len(known))
    for number, name in enumerate(known[found:], start=found + 1):
        transaction.script(f"migrations/{name}")
        transaction.run("schema/stamp", version=number)
    return len(known)


def _may_repeat(found: Refusal) -> bool:
    return found.kind in (Kind.RETRY, Kind.LOST) or found.rule == REPEATED


def _ours(found: Refusal) -> UrmError:
    match found.kind:
        case Kind.RETRY | Kind.LOST:
            return RecordsUnavailable(f"{found.text}.")
        case Kind.MISSING:
            return RecordsMissing(f"{found.text}.")
        case Kind.REFUSED:
            kind = REFUSALS.get(found.rule, RecordsRefused)
            return kind(f"{found.text}.", rule=found.rule or None)
