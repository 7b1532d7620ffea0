"""What the functional modules share: the engine on a connection of the caller's, and what this process holds there.

`schema_migration`, `job_planning`, `job_leasing`, `job_state`, `job_effects` and `job_reconciler` are for scripts that
have an apsw or sqlite3 connection and call one function after the other. Each call is a transaction, or takes part in
the one that is open. The work is the engine's: jobs, leases with fences, effects, states and their arrows.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from leasehold import Held, Job, Leasehold, Misuse
from leasehold.errors import JobUnknown, LeaseLost
from leasehold.pipelines.download.collection import declare
from leasehold.pipelines.download.limits import BUSY_SECONDS, TTL_SECONDS
from leasehold.sqlfiles import steps

BUSY: Final = 5  # SQLite's code for it, in either library
PRIMARY: Final = 0xFF


@dataclass(slots=True)
class Holding:
    """A lease that this process got: whose, which, and the states that earlier leases of the job have been through.

    `is_over`: the job has come to its end under it.
    """

    connection: object  # kept, so that no other has its number meanwhile
    owner: str
    fence: int
    passed: set[str] = field(default_factory=set)
    is_over: bool = False


# What this process holds, by connection, database and job: a thread with another connection is another worker.
_holdings: Final[dict[tuple[int, str, int], Holding]] = {}
_lock: Final = threading.Lock()


def refuse(work_id: str, artifact_id: str, url: str, **_wanted: str) -> None:
    """Stand in for the handler: a script runs these jobs itself."""
    raise Misuse(f"{url} of {work_id}/{artifact_id} is held by a script; no worker runs it.")


@dataclass(frozen=True, slots=True)
class Engine:
    """The engine on one connection. `place` is the database's own name, the same for all who open it."""

    connection: Any
    app: Leasehold
    kind: Any
    place: str

    def job(self, job_id: object) -> Job:
        return self.app.get(number_of(job_id))

    def holding(self, job_id: int) -> Holding | None:
        return _holdings.get((id(self.connection), self.place, job_id))

    def remember(self, job_id: int, holding: Holding) -> None:
        with _lock:
            for key, one in list(_holdings.items()):
                if one.is_over and one.connection is not self.connection:
                    del _holdings[key]
            _holdings[id(self.connection), self.place, job_id] = holding

    def forget(self, job_id: int) -> None:
        with _lock:
            _holdings.pop((id(self.connection), self.place, job_id), None)

    def resume(self, job_id: int, known: Holding) -> Held | None:
        """Resume a lease that was acquired on this connection; None if it no longer stands."""
        held = self.app.manual.resume(job_id, owner=known.owner)
        return held if held is not None and held.fence == known.fence else None

    def hold(self, job_id: int) -> tuple[Held, bool]:
        """Return this connection's lease, and True; or hold a job that nobody holds for the moment, and False."""
        if (known := self.holding(job_id)) is None:
            return self.app.manual.hold(job_id, owner=f"script {os.getpid()}", seconds=TTL_SECONDS), False
        if (held := self.resume(job_id, known)) is None:
            raise LeaseLost
        return held, True

    def ask(self, name: str, **values: object) -> list[tuple[Any, ...]]:
        return ask(self.connection, name, values)


@contextmanager
def engine(connection: object) -> Iterator[Engine]:
    """Have the engine work on a connection whose file was migrated."""
    if (place := fact(connection, "place")) is None:
        raise Misuse("This database knows no artifacts; call schema_migration.apply_migration(conn) first.")
    with closing(Leasehold(connection=connection)) as app:
        yield Engine(connection, app, declare(app, refuse), place)


def fact(connection: object, key: str) -> str | None:
    if not ask(connection, "has_meta", {})[0][0]:
        return None
    found = ask(connection, "read_meta", {"key": key})
    return str(found[0][0]) if found else None


def number_of(job_id: object) -> int:
    """Return the engine's number of a job; what cannot be one is unknown."""
    text = str(job_id)
    if not (text.isascii() and text.isdecimal() and len(text) <= 18):  # noqa: PLR2004 — what 64 bits hold
        raise JobUnknown(f"It is {text[:80]!r}.")
    return int(text)


def ask(connection: Any, name: str, values: Mapping[str, object]) -> list[tuple[Any, ...]]:
    """Run the statements of a file; rows are tuples, whatever the caller's connection makes of theirs."""
    rows: list[tuple[Any, ...]] = []
    for statement in steps("leasehold.pipelines.download", f"script/{name}"):
        cursor = connection.cursor()
        if hasattr(cursor, "row_factory"):  # sqlite3's
            cursor.row_factory = None
        else:
            cursor.row_trace = cursor.exec_trace = None
        rows = _patiently(cursor, statement, values)
    return rows


def _patiently(cursor: Any, statement: str, values: Mapping[str, object]) -> list[tuple[Any, ...]]:
    """Run a statement, again and again while another is writing: the caller's connection may have no patience."""
    started = time.monotonic()
    while True:
        try:
            found: list[tuple[Any, ...]] = cursor.execute(statement, values).fetchall()
            return found
        except Exception as error:
            codes = [getattr(error, name, 0) for name in ("sqlite_errorcode", "result")]
            is_busy = any(code & PRIMARY == BUSY for code in codes)
            if not is_busy or time.monotonic() - started > BUSY_SECONDS:
                raise
        time.sleep(random.uniform(0.001, 0.02))
