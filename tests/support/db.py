"""What tests read behind the engine's back: rows of the database, and the promises that rows alone can show."""

from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import Any, Final

import apsw
import psycopg

from tests.support.databases.template import Kept, Session

PLACES = ("waiting", "ready", "lease", "outcome")

_readers: Final[dict[str, Kept]] = {}  # of the databases that tests have at this moment


def rows(url: str, statement: str) -> list[tuple[Any, ...]]:
    """Run a statement on either database; the tables have the same names."""
    reader = _readers.get(url)
    if reader is not None and statement.startswith("SELECT"):
        with suppress(psycopg.OperationalError), reader.lent() as session:  # a lost connection is opened again
            return session.execute(statement, prepare=False).fetchall()
    with connected(url) as connection:
        return list(connection.execute(statement))


@contextmanager
def one_reader(url: str) -> Iterator[None]:
    """Have `rows` read a PostgreSQL database over one connection, because a test that waits reads again and again.

    What writes, or sets anything, still has a connection of its own.
    """
    with closing(Kept(partial(_session, url))) as reader:
        _readers[url] = reader
        try:
            yield
        finally:
            del _readers[url]


@contextmanager
def connected(url: str) -> Iterator[Any]:
    """A connection of the caller's own, as a user of the engine would have."""
    if url.startswith("sqlite"):
        connection = apsw.Connection(url.removeprefix("sqlite:///"))
        connection.set_busy_timeout(30_000)
        try:
            yield connection
        finally:
            connection.close()
    else:
        with _session(url) as session:
            yield session


def _session(url: str) -> Session:
    return psycopg.connect(url, autocommit=True, options="-c search_path=leasehold,public")


def check_places(url: str) -> None:
    """S3: every task stands in exactly one place, or was superseded by a revival from the start."""
    standing: Counter[int] = Counter()
    for place in PLACES:
        standing.update(task for (task,) in rows(url, f"SELECT task_id FROM {place}"))  # noqa: S608
    tasks = {task for (task,) in rows(url, "SELECT id FROM task")}
    tasks -= {task for (task,) in rows(url, "SELECT task_id FROM event WHERE name = 'superseded'")}
    assert {task: count for task, count in standing.items() if count != 1} == {}
    assert standing.keys() == tasks


def check_journal(url: str) -> None:
    """S6: the journal shows the end of every epoch once (S5), and each claim of a task has a fence of its own (S1)."""
    ends = rows(url, "SELECT task_id FROM event WHERE name IN ('done', 'failed', 'cancelled')")
    settled = rows(url, "SELECT task_id FROM outcome") + rows(url, "SELECT task_id FROM outcome_past")
    lost = rows(url, "SELECT task_id FROM event WHERE name = 'reclaimed' AND detail NOT LIKE '%READY%'")
    assert sorted(ends + lost) == sorted(settled)
    fences: dict[int, list[int]] = {}
    for task, fence in rows(url, "SELECT task_id, fence FROM event WHERE name = 'claimed' ORDER BY task_id, id"):
        fences.setdefault(task, []).append(fence)
    assert [task for task, found in fences.items() if found != list(range(1, len(found) + 1))] == []


def names(url: str, task: int) -> list[str]:
    """Return the names of a task's journal lines, in order."""
    return [name for (name,) in rows(url, f"SELECT name FROM event WHERE task_id = {task} ORDER BY id")]  # noqa: S608
