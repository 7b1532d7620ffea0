"""Where the index lies: a file beside the engine's on SQLite, a schema beside the engine's on PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from leasehold.pipelines.download.statements import steps

Values = Mapping[str, Any]
T = TypeVar("T")
BUSY_MILLISECONDS: Final = 30_000


class IndexBackend(Protocol):
    """A database's way to keep rows. Every deed is safe to repeat."""

    def change(self, *deeds: tuple[str, Values]) -> int:
        """Do what is told, in one transaction; return how many rows the last of it touched."""

    def read(self, question: str, values: Values) -> list[tuple[Any, ...]]:
        """Ask one of the questions."""

    def words(self, *texts: str) -> str:
        """Return the words of texts as this database keeps them with a row; empty: it finds them by itself."""

    def query(self, words: Sequence[str]) -> str:
        """Return how this database is asked for rows that have words beginning with all of these; empty: it cannot."""

    def close(self) -> None:
        """Let go of the database."""


class SqliteShelf:
    """A file beside the engine's."""

    def __init__(self, path: Path) -> None:
        import apsw

        path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = apsw.Connection(str(path))
        self._connection.set_busy_timeout(BUSY_MILLISECONDS)
        self._lock = threading.Lock()
        for step in steps("index/sqlite", "pragmas"):
            self._connection.execute(step)
        with self._transaction():
            self._run("schema", {})

    def change(self, *deeds: tuple[str, Values]) -> int:
        with self._transaction():
            for name, values in deeds:
                self._run(name, values)
            return self._connection.changes()

    def _run(self, name: str, values: Values) -> None:
        for step in steps("index/sqlite", name):
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

    def read(self, question: str, values: Values) -> list[tuple[Any, ...]]:
        (step,) = steps("index/sqlite", question)
        with self._lock:
            return self._connection.execute(step, values).fetchall()

    def words(self, *texts: str) -> str:  # noqa: ARG002
        return ""

    def query(self, words: Sequence[str]) -> str:
        return " ".join('"' + word.replace('"', '""') + '"*' for word in words)

    def close(self) -> None:
        self._connection.close()


class PostgresShelf:
    """A schema beside the engine's. A connection that was lost is opened anew, and the deed repeated once."""

    def __init__(self, url: str) -> None:
        import psycopg

        self._errors = psycopg.OperationalError
        self._connect: Callable[[], Any] = lambda: psycopg.connect(url, autocommit=True, prepare_threshold=None)
        self._connection: Any = self._connect()
        self._lock = threading.Lock()
        self.change(("schema", {}))

    def change(self, *deeds: tuple[str, Values]) -> int:
        return self._persist(lambda connection: _change(connection, deeds))

    def read(self, question: str, values: Values) -> list[tuple[Any, ...]]:
        (step,) = steps("index/postgres", question)
        return self._persist(lambda connection: list(connection.execute(step.encode(), values).fetchall()))

    def _persist(self, work: Callable[[Any], T]) -> T:
        with self._lock:
            try:
                return work(self._connection)
            except self._errors:
                if not self._connection.broken and not self._connection.closed:
                    raise
                self._connection.close()
                self._connection = self._connect()
                return work(self._connection)

    def words(self, *texts: str) -> str:
        return " ".join(words_of(*texts))

    def query(self, words: Sequence[str]) -> str:
        return " & ".join(f"{word}:*" for word in words_of(*words))

    def close(self) -> None:
        self._connection.close()


def _change(connection: Any, deeds: Sequence[tuple[str, Values]]) -> int:
    cursor = None
    with connection.pipeline(), connection.transaction():  # many rows are one way to the server and back
        for name, values in deeds:
            for step in steps("index/postgres", name):
                cursor = connection.execute(step.encode(), values)
    return int(cursor.rowcount) if cursor is not None else 0


def words_of(*texts: str) -> list[str]:
    """Return the words of texts, in one case whatever the database's locale makes of them."""
    return "".join(one if one.isalnum() else " " for one in " ".join(texts).casefold()).split()
