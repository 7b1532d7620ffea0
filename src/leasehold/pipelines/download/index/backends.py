"""Where the index lies: a file next to the engine's on SQLite, a schema next to the engine's on PostgreSQL."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from leasehold.pipelines.download.limits import BUSY_SECONDS
from leasehold.sqlfiles import steps

Values = Mapping[str, Any]
T = TypeVar("T")
PACKAGE: Final = "leasehold.pipelines.download"


class SqliteIndex:
    """A file next to the engine's. Every statement is safe to repeat."""

    def __init__(self, path: Path) -> None:
        import apsw

        path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = apsw.Connection(str(path))
        self._connection.set_busy_timeout(round(1_000 * BUSY_SECONDS))
        self._lock = threading.Lock()
        self._run("pragmas", {})
        with self._transaction():
            self._run("schema", {})

    def change(self, *statements: tuple[str, Values]) -> int:
        """Run statements in one transaction; return how many rows the last one touched."""
        with self._transaction():
            for name, values in statements:
                self._run(name, values)
            return self._connection.changes()

    def _run(self, name: str, values: Values) -> None:
        for step in steps(PACKAGE, f"index/sqlite/{name}"):
            self._connection.execute(step, values)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def read(self, statement: str, values: Values) -> list[tuple[Any, ...]]:
        (step,) = steps(PACKAGE, f"index/sqlite/{statement}")
        with self._lock:
            return self._connection.execute(step, values).fetchall()

    def search_text(self, *texts: str) -> str:  # noqa: ARG002
        """Return what is stored with a row so that it can be searched; empty: the database finds it itself."""
        return ""

    def search_query(self, words: Sequence[str]) -> str:
        """Return a search for rows that have words beginning with all of these; empty: they hold no word."""
        return " ".join('"' + word.replace('"', '""') + '"*' for word in words)

    def close(self) -> None:
        self._connection.close()


class PostgresIndex:
    """A schema next to the engine's. A connection that was lost is opened again, and the statements repeated once."""

    def __init__(self, url: str) -> None:
        import psycopg

        self._errors = psycopg.OperationalError
        self._connect: Callable[[], Any] = lambda: psycopg.connect(
            url, autocommit=True, prepare_threshold=None, client_encoding="UTF8"
        )
        self._connection: Any = self._connect()
        self._lock = threading.Lock()
        self.change(("schema", {}))

    def change(self, *statements: tuple[str, Values]) -> int:
        return self._with_retry(lambda connection: _change(connection, statements))

    def read(self, statement: str, values: Values) -> list[tuple[Any, ...]]:
        (step,) = steps(PACKAGE, f"index/postgres/{statement}")
        return self._with_retry(lambda connection: list(connection.execute(step.encode(), values).fetchall()))

    def _with_retry(self, work: Callable[[Any], T]) -> T:
        with self._lock:
            try:
                return work(self._connection)
            except self._errors:
                if not self._connection.broken and not self._connection.closed:
                    raise
                self._connection.close()
                self._connection = self._connect()
                return work(self._connection)

    def search_text(self, *texts: str) -> str:
        return " ".join(words_of(*texts))

    def search_query(self, words: Sequence[str]) -> str:
        return " & ".join(f"{word}:*" for word in words_of(*words))

    def close(self) -> None:
        self._connection.close()


IndexBackend = SqliteIndex | PostgresIndex


def _change(connection: Any, statements: Sequence[tuple[str, Values]]) -> int:
    cursor = None
    with connection.pipeline(), connection.transaction():  # many rows in one round trip
        for name, values in statements:
            for step in steps(PACKAGE, f"index/postgres/{name}"):
                cursor = connection.execute(step.encode(), values)
    return int(cursor.rowcount) if cursor is not None else 0


def words_of(*texts: str) -> list[str]:
    """Return the words of texts, in one case whatever the database's locale makes of them."""
    return "".join(char if char.isalnum() else " " for char in " ".join(texts).casefold()).split()
