"""The index: what is on disk, searchable. A file of its own beside the engine's on SQLite, a schema on PostgreSQL.

Rows come from many threads; whatever has gathered while the last ones were written becomes the next transaction.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final, Protocol

GROUP_MAX: Final = 500
FIND_MAX: Final = 1_000


@dataclass(frozen=True, slots=True)
class Row:
    """One artifact that is on disk. `path` is below the collection's folder; `fetched_at` in seconds since 1970."""

    key: str
    work_id: str
    artifact_id: str
    url: str
    host: str
    name: str
    path: str
    media_type: str | None
    size: int
    sha256: str
    state: str
    fetched_at: float


COLUMNS: Final = tuple(field.name for field in fields(Row))


class Shelf(Protocol):
    """A database's way to keep rows."""

    def write(self, rows: Sequence[Row]) -> None:
        """Write rows in one transaction; one whose key is there replaces it."""

    def read(self, question: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Ask one of the questions."""

    def close(self) -> None:
        """Let go of the database."""


class Index:
    """What is on disk."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._gathered: list[tuple[Row, _Reply]] = []
        self._changed = threading.Condition()
        self._closed = False
        self._thread: threading.Thread | None = None

    def add(self, row: Row) -> dict[str, str]:
        """Write a row, with whatever others are waiting; return once it is committed."""
        reply = _Reply()
        with self._changed:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="leasehold-index", daemon=True)
                self._thread.start()
            self._gathered.append((row, reply))
            self._changed.notify()
        reply.wait()
        return {"key": row.key}

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._gathered or self._closed)
                group, self._gathered = self._gathered[:GROUP_MAX], self._gathered[GROUP_MAX:]
            if not group:
                return
            try:
                self._shelf.write([row for row, _ in group])
                trouble = None
            except Exception as error:  # noqa: BLE001 — those who wait are told
                trouble = error
            for _, reply in group:
                reply.answer(trouble)

    def has(self, key: str) -> bool:
        """Whether an artifact is in the index."""
        return bool(self._shelf.read("has", [key]))

    def has_content(self, sha256: str, but: str) -> bool:
        """Whether another artifact has this content."""
        return bool(self._shelf.read("has_content", [sha256, but]))

    def find(self, text: str, limit: int = 50) -> list[Row]:
        """Search names, hosts, works and addresses; best first."""
        words = [word for word in text.split() if word]
        return [Row(*row) for row in self._shelf.read("find", [words, min(limit, FIND_MAX)])] if words else []

    def rows(self) -> Iterator[Row]:
        """Return every row, by key."""
        after = ""
        while page := self._shelf.read("page", [after, FIND_MAX]):
            yield from (Row(*row) for row in page)
            after = page[-1][0]

    def close(self) -> None:
        """Write what is left and let go."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()
        self._shelf.close()


class _Reply:
    """What one of many waits for."""

    __slots__ = ("_done", "_trouble")

    def __init__(self) -> None:
        self._done = threading.Event()
        self._trouble: Exception | None = None

    def answer(self, trouble: Exception | None) -> None:
        self._trouble = trouble
        self._done.set()

    def wait(self) -> None:
        self._done.wait()
        if self._trouble is not None:
            raise self._trouble


_NAMES: Final = ", ".join(COLUMNS)

SQLITE_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS artifact (
    key TEXT PRIMARY KEY, work_id TEXT NOT NULL, artifact_id TEXT NOT NULL, url TEXT NOT NULL, host TEXT NOT NULL,
    name TEXT NOT NULL, path TEXT NOT NULL, media_type TEXT, size INTEGER NOT NULL, sha256 TEXT NOT NULL,
    state TEXT NOT NULL, fetched_at REAL NOT NULL) STRICT;
CREATE INDEX IF NOT EXISTS artifact_content ON artifact (sha256);
CREATE VIRTUAL TABLE IF NOT EXISTS artifact_text USING fts5 (
    name, host, work_id, artifact_id, url, content = 'artifact', tokenize = 'unicode61');
CREATE TRIGGER IF NOT EXISTS artifact_added AFTER INSERT ON artifact BEGIN
    INSERT INTO artifact_text (rowid, name, host, work_id, artifact_id, url)
    VALUES (new.rowid, new.name, new.host, new.work_id, new.artifact_id, new.url); END;
CREATE TRIGGER IF NOT EXISTS artifact_gone AFTER DELETE ON artifact BEGIN
    INSERT INTO artifact_text (artifact_text, rowid, name, host, work_id, artifact_id, url)
    VALUES ('delete', old.rowid, old.name, old.host, old.work_id, old.artifact_id, old.url); END;
"""
SQLITE: Final = {
    "write": f"INSERT INTO artifact ({_NAMES}) VALUES ({', '.join(':' + name for name in COLUMNS)})",  # noqa: S608
    "drop": "DELETE FROM artifact WHERE key = :key",
    "has": "SELECT 1 FROM artifact WHERE key = ?",
    "has_content": "SELECT 1 FROM artifact WHERE sha256 = ? AND key <> ? LIMIT 1",
    "page": f"SELECT {_NAMES} FROM artifact WHERE key > ? ORDER BY key LIMIT ?",  # noqa: S608
    "find": f"SELECT {', '.join(f'a.{name}' for name in COLUMNS)} FROM artifact_text AS t"  # noqa: S608
    " JOIN artifact AS a ON a.rowid = t.rowid WHERE artifact_text MATCH ? ORDER BY rank LIMIT ?",
}


class SqliteShelf:
    """A file beside the engine's."""

    def __init__(self, path: Path) -> None:
        import apsw

        path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = apsw.Connection(str(path))
        self._connection.set_busy_timeout(30_000)
        self._connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
        self._connection.execute(SQLITE_SCHEMA)
        self._lock = threading.Lock()

    def write(self, rows: Sequence[Row]) -> None:
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                for row in rows:
                    self._connection.execute(SQLITE["drop"], {"key": row.key})
                    self._connection.execute(SQLITE["write"], asdict(row))
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def read(self, question: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        given = list(values)
        if question == "find":
            given[0] = " ".join('"' + word.replace('"', '""') + '"*' for word in given[0])
        with self._lock:
            return self._connection.execute(SQLITE[question], given).fetchall()

    def close(self) -> None:
        self._connection.close()


POSTGRES_SCHEMA: Final = """
CREATE SCHEMA IF NOT EXISTS download;
CREATE TABLE IF NOT EXISTS download.artifact (
    key text PRIMARY KEY, work_id text NOT NULL, artifact_id text NOT NULL, url text NOT NULL, host text NOT NULL,
    name text NOT NULL, path text NOT NULL, media_type text, size bigint NOT NULL, sha256 text NOT NULL,
    state text NOT NULL, fetched_at double precision NOT NULL,
    words text NOT NULL, lexemes tsvector GENERATED ALWAYS AS (to_tsvector('simple', words)) STORED);
CREATE INDEX IF NOT EXISTS artifact_content ON download.artifact (sha256);
CREATE INDEX IF NOT EXISTS artifact_lexemes ON download.artifact USING gin (lexemes);
"""
_GIVEN: Final = (*COLUMNS, "words")
POSTGRES: Final = {
    "write": f"INSERT INTO download.artifact ({', '.join(_GIVEN)}) VALUES ({', '.join(f'%({one})s' for one in _GIVEN)})"  # noqa: S608
    f" ON CONFLICT (key) DO UPDATE SET {', '.join(f'{one} = excluded.{one}' for one in _GIVEN[1:])}",
    "has": "SELECT 1 FROM download.artifact WHERE key = %s",
    "has_content": "SELECT 1 FROM download.artifact WHERE sha256 = %s AND key <> %s LIMIT 1",
    "page": f"SELECT {_NAMES} FROM download.artifact WHERE key > %s ORDER BY key LIMIT %s",  # noqa: S608
    "find": f"SELECT {_NAMES} FROM download.artifact, to_tsquery('simple', %s) AS query WHERE lexemes @@ query"  # noqa: S608
    " ORDER BY ts_rank(lexemes, query) DESC, key LIMIT %s",
}


def _words(row: Row) -> str:
    return " ".join(words_of(row.name, row.host, row.work_id, row.artifact_id, row.url))


def words_of(*texts: str) -> list[str]:
    """Return the words of texts, in one case whatever the database's locale makes of them."""
    return "".join(one if one.isalnum() else " " for one in " ".join(texts).casefold()).split()


class PostgresShelf:
    """A schema beside the engine's."""

    def __init__(self, url: str) -> None:
        import psycopg

        self._connection = psycopg.connect(url, autocommit=True)
        with self._connection.transaction():
            self._connection.execute("SELECT pg_advisory_xact_lock(7_331_042)")
            self._connection.execute(POSTGRES_SCHEMA)
        self._lock = threading.Lock()

    def write(self, rows: Sequence[Row]) -> None:
        ordered = sorted({row.key: row for row in rows}.values(), key=lambda row: row.key)
        with self._lock, self._transaction(), self._connection.cursor() as cursor:
            cursor.executemany(POSTGRES["write"].encode(), [{**asdict(row), "words": _words(row)} for row in ordered])

    def _transaction(self) -> AbstractContextManager[Any]:
        return self._connection.transaction()

    def read(self, question: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        given = list(values)
        if question == "find":
            words = words_of(*given[0])
            if not words:
                return []
            given[0] = " & ".join(f"{word}:*" for word in words)
        with self._lock:
            return self._connection.execute(POSTGRES[question].encode(), given).fetchall()

    def close(self) -> None:
        self._connection.close()
