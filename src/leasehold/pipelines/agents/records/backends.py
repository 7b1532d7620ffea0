"""The engine's database as the agents pipeline uses it: connections of its own, on which engine jobs can be joined.

SQLite: tables `urm_…` in the engine's file. PostgreSQL: the schema `leasehold_agents` in the engine's database.
"""

import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Any, Final, Protocol

from leasehold.pipelines.agents.records.limits import BUSY_SECONDS
from leasehold.sqlfiles import steps, text

PACKAGE: Final = "leasehold.pipelines.agents"
Row = tuple[Any, ...]
RETRIED: Final = ("40001", "40P01", "55P03", "53300", "57014")
LOST: Final = ("25006", "25P03", "25P04", "57P01", "57P02", "57P03", "57P05")


class Kind(Enum):
    RETRY = auto()  # nothing happened: repeat
    LOST = auto()  # the connection ended
    MISSING = auto()  # there are no such tables
    REFUSED = auto()  # a constraint or trigger refused it


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a driver's error means. `rule`: the constraint's name, or the code that a trigger gave."""

    kind: Kind
    text: str
    rule: str = ""


class Backend(Protocol):
    """What differs between databases."""

    name: str

    def connect(self) -> Any:
        """Open a connection."""

    def transaction(self, connection: Any, *, write: bool) -> Any:
        """Make what runs inside one transaction; a context manager."""

    def run(self, connection: Any, name: str, values: Mapping[str, Any]) -> list[Row]:
        """Run a statement and return its rows."""

    def script(self, connection: Any, name: str) -> None:
        """Run a file of definitions."""

    def explain(self, error: Exception) -> Refusal | None:
        """Return what an error means, or None if it is not the driver's."""


class SqliteBackend:
    name = "sqlite"

    def __init__(self, path: Path) -> None:
        self._path = path

    def connect(self) -> Any:
        import apsw

        connection = apsw.Connection(str(self._path))
        connection.set_busy_handler(_wait_for_writer(BUSY_SECONDS))
        for step in steps(PACKAGE, "records/sqlite/pragmas"):
            connection.execute(step)
        return connection

    @contextmanager
    def transaction(self, connection: Any, *, write: bool) -> Iterator[None]:
        connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def run(self, connection: Any, name: str, values: Mapping[str, Any]) -> list[Row]:
        (step,) = steps(PACKAGE, f"records/sqlite/{name}")
        return list(connection.execute(step, values).fetchall())

    def script(self, connection: Any, name: str) -> None:
        connection.execute(text(PACKAGE, f"records/sqlite/{name}"))

    def explain(self, error: Exception) -> Refusal | None:
        import apsw

        match error:
            case apsw.BusyError() | apsw.LockedError() | apsw.SchemaChangeError():
                return Refusal(Kind.RETRY, str(error))
            case apsw.ConstraintError():
                # "UNIQUE constraint failed: a.x, a.y", "CHECK constraint failed: name", or a trigger's own text.
                return Refusal(Kind.REFUSED, str(error), str(error).rpartition(" ")[2])
            case apsw.SQLError() if "no such table" in str(error):
                return Refusal(Kind.MISSING, str(error))
            case apsw.Error():
                return Refusal(Kind.REFUSED, str(error))
        return None


def _wait_for_writer(seconds: float) -> Callable[[int], bool]:
    """Wait in short, uneven steps, so that no process is always last; those of SQLite grow to a tenth of a second."""
    began = [0.0]

    def wait(tries: int) -> bool:
        now = time.monotonic()
        if tries == 0:
            began[0] = now
        time.sleep(random.uniform(0.0005, 0.002 + min(tries, 10) * 0.001))
        return now - began[0] < seconds

    return wait


class PostgresBackend:
    name = "postgres"

    def __init__(self, url: str) -> None:
        self._url = url

    def connect(self) -> Any:
        import psycopg

        return psycopg.connect(self._url, autocommit=True, client_encoding="UTF8")

    @contextmanager
    def transaction(self, connection: Any, *, write: bool) -> Iterator[None]:
        with connection.transaction():
            if not write:
                connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield

    def run(self, connection: Any, name: str, values: Mapping[str, Any]) -> list[Row]:
        (step,) = steps(PACKAGE, f"records/postgres/{name}")
        cursor = connection.execute(step.encode(), values)
        return list(cursor.fetchall()) if cursor.description else []

    def script(self, connection: Any, name: str) -> None:
        connection.execute(text(PACKAGE, f"records/postgres/{name}").encode(), prepare=False)

    def explain(self, error: Exception) -> Refusal | None:
        import psycopg
        from psycopg import errors as pg

        if not isinstance(error, psycopg.Error):
            return None
        state, found = error.sqlstate or "", str(error).partition("\n")[0]
        match error:
            case pg.RaiseException():
                return Refusal(Kind.REFUSED, found, error.diag.message_primary or "")
            case pg.IntegrityError():
                return Refusal(Kind.REFUSED, found, error.diag.constraint_name or "")
            case pg.UndefinedTable() | pg.InvalidSchemaName():
                return Refusal(Kind.MISSING, found)
        is_lost = state in LOST or state.startswith("08") or (not state and isinstance(error, psycopg.OperationalError))
        return Refusal(Kind.RETRY if state in RETRIED else Kind.LOST if is_lost else Kind.REFUSED, found)
