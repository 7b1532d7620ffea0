"""Where a peer is measured: a fresh database of the one durable server, or a fresh SQLite file."""

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

from tests.support.databases.postgres import PostgresServer

STATEMENT = re.compile(rb"(?:statement|execute [^:\n]*): ")


@dataclass(frozen=True, slots=True)
class Place:
    """One database and the URL that every peer is given."""

    database: str
    url: str
    server: PostgresServer

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        """Run a statement of the benchmark's own."""
        if self.database == "postgres":
            with psycopg.connect(self.url, autocommit=True) as connection:
                cursor = connection.execute(text.encode())
                return cursor.fetchall() if cursor.description else []
        file = apsw.Connection(self.url.removeprefix("sqlite:///"))
        file.set_busy_timeout(60_000)
        try:
            return list(file.execute(text))
        finally:
            file.close()

    def wal(self) -> int:
        """Return how many bytes of WAL the server has written so far."""
        return int(self.sql("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint")[0][0])

    def log_statements(self) -> None:
        """Have the server write down the statements of connections that are opened from now on."""
        name = self.sql("SELECT current_database()")[0][0]
        self.sql(f"ALTER DATABASE {name} SET log_statement = 'all'")
        self.sql(f"ALTER DATABASE {name} SET log_parameter_max_length = 0")

    def log_size(self) -> int:
        """Return how far the server's log has come."""
        return (self.server.folder / "log").stat().st_size

    def statements(self, since: int) -> int:
        """Return how many statements were written down since the log had that size."""
        with (self.server.folder / "log").open("rb") as log:
            log.seek(since)
            return len(STATEMENT.findall(log.read()))

    @contextmanager
    def old_snapshot(self) -> Iterator[None]:
        """Have another session hold a snapshot of now."""
        with psycopg.connect(self.url) as connection:
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            connection.execute("SELECT count(*) FROM pg_class")
            yield
            connection.rollback()


class Ground:
    """The server and the folder that all places of a run lie in."""

    def __init__(self, server: PostgresServer, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self._made = 0

    def place(self, database: str) -> Place:
        """Make an empty database."""
        self._made += 1
        if database == "sqlite":
            return Place(database, f"sqlite:///{self.folder / f'{self._made}.db'}", self.server)
        # The same for every driver: a host for those that want one, the socket that all of them then use.
        url = self.server.create_database().replace("postgres@/", "postgres@localhost/", 1)
        return Place(database, url, self.server)

    def clear(self, place: Place) -> None:
        """Remove a database that is no longer needed, so that nothing of it disturbs the next."""
        if place.database == "postgres":
            self.server.drop_database(place.url)


@contextmanager
def ground() -> Iterator[Ground]:
    """Start the server, with PostgreSQL's own durable settings, and remove everything at the end."""
    with tempfile.TemporaryDirectory(prefix="leasehold-bench-") as folder, PostgresServer(durable=True) as server:
        yield Ground(server, Path(folder))
