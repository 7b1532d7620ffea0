"""What is measured on: fresh databases with default durable settings, and SQL that only a benchmark needs."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import psycopg

from leasehold.store import Store, open_store
from tests.support.databases.postgres import PostgresServer

STATEMENT = re.compile(r"(?:statement|execute [^:\n]*): ")


@dataclass(frozen=True, slots=True)
class Bed:
    """A database to measure on."""

    name: str
    url: str
    store: Store
    server: PostgresServer

    def log_statements(self) -> None:
        """Have the server write down every statement of connections that are opened from now on, without parameters."""
        database = self.sql("SELECT current_database()")[0][0]
        self.sql(f"ALTER DATABASE {database} SET log_statement = 'all'")
        self.sql(f"ALTER DATABASE {database} SET log_parameter_max_length = 0")

    def statements(self) -> int:
        """Return how many statements the server has written down so far."""
        return len(STATEMENT.findall(self.server.log))

    def wal(self) -> int:
        """Return how many bytes of WAL the server has written so far."""
        return int(self.sql("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint")[0][0])

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        """Run a statement of the benchmark's own."""
        if self.name == "postgres":
            with psycopg.connect(self.url, autocommit=True) as connection:
                cursor = connection.execute(text.encode())
                return cursor.fetchall() if cursor.description else []
        file = apsw.Connection(self.url.removeprefix("sqlite:///"))
        file.set_busy_timeout(60_000)
        try:
            return list(file.execute(text))
        finally:
            file.close()

    @property
    def prefix(self) -> str:
        """How this database spells our schema."""
        return "leasehold." if self.name == "postgres" else ""

    def span(self, kind: str = "noop") -> tuple[int, float]:
        """Return how many tasks of a kind settled, and seconds from the first claim to the last end."""
        rows = self.sql(
            f"SELECT count(*), min(e.at), max(o.finished_at) FROM {self.prefix}outcome o "  # noqa: S608
            f"JOIN {self.prefix}event e ON e.task_id = o.task_id AND e.name = 'claimed' "
            f"JOIN {self.prefix}task t ON t.id = o.task_id WHERE t.kind = '{kind}' AND t.key NOT LIKE 'old-%'"
        )
        count, first, last = rows[0]
        return count, (last - first) / 1_000_000 if count else 0.0


@contextmanager
def beds() -> Iterator[Any]:
    """Give a function that makes fresh databases: one durable PostgreSQL server, one folder of SQLite files."""
    with tempfile.TemporaryDirectory(prefix="leasehold-bench-") as folder:
        server = PostgresServer(durable=True)
        server.start()
        opened: list[Store] = []

        def make(name: str) -> Bed:
            number = len(opened)
            url = server.create_database() if name == "postgres" else f"sqlite:///{Path(folder) / f'{number}.db'}"
            store = open_store(url)
            store.prepare()
            opened.append(store)
            return Bed(name, url, store, server)

        try:
            yield make
        finally:
            for store in opened:
                store.close()
            server.close()
