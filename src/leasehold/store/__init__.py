"""The store: the only place that knows SQL. One small noun a file, two dialects, the same operations in both."""

import os
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path

from leasehold.errors import DriverMissing, UrlInvalid
from leasehold.model.names import family_of
from leasehold.store.audit import Audit
from leasehold.store.db import migrate
from leasehold.store.db.database import Database, Dialect
from leasehold.store.db.limits import RETRY_SECONDS
from leasehold.store.db.pool import keep_unclosed
from leasehold.store.db.sqlite import SqliteDialect
from leasehold.store.db.wake import Listener, Notifier
from leasehold.store.deadletters import DeadLetters
from leasehold.store.deliveries import Deliveries
from leasehold.store.effects import Effects
from leasehold.store.journal import JournalLines
from leasehold.store.leases import Leases
from leasehold.store.machines import Machines
from leasehold.store.queues import Queues
from leasehold.store.records import Records
from leasehold.store.reports import Reports
from leasehold.store.retention import Pruner
from leasehold.store.stages import Stages
from leasehold.store.tasks import Tasks
from leasehold.store.workers import Workers

__all__ = ["Store", "borrow_store", "open_store"]


class Store:
    """One database of jobs, as small nouns: `tasks`, `leases`, `effects`, `stages`, `queues`, `workers` and so on."""

    def __init__(self, url: str, database: Database) -> None:
        self.url = url
        self.database = database
        self.tasks = Tasks(database)
        self.leases = Leases(database)
        self.effects = Effects(database)
        self.machines = Machines(database)
        self.stages = Stages(database)
        self.queues = Queues(database)
        self.workers = Workers(database)
        self.reports = Reports(database)
        self.records = Records(database)
        self.journal = JournalLines(database)
        self.retention = Pruner(database)
        self.deliveries = Deliveries(database)
        self.audit = Audit(database)
        self.deadletters = DeadLetters(database)
        self._notifiers: dict[int, Notifier] = {}  # of this process, by its pid

    def wake(self, hints: Iterable[str]) -> None:
        """Hint to every worker that these queues got work; a branch is sent as its queue."""
        notifier = self._own_notifier()
        if notifier is None:
            made = self.database.dialect.notifier()
            notifier = self._notifiers.setdefault(os.getpid(), made)
            if notifier is not made:  # another thread was first
                made.close()
        notifier.send({family_of(hint) or hint for hint in hints})

    def _own_notifier(self) -> Notifier | None:
        for pid in [pid for pid in self._notifiers if pid != os.getpid()]:
            keep_unclosed(self._notifiers.pop(pid, None))  # a fork has neither its thread nor its own connection
        return self._notifiers.get(os.getpid())

    def listener(self) -> Listener:
        return self.database.dialect.listener()

    def transaction(self, connection: object) -> AbstractContextManager[None]:
        """Run this thread's calls inside a transaction of the caller's own connection."""
        return self.database.bound(connection)

    def prepare(self) -> None:
        """Give a new database its schema; refuse one that is older or newer than this engine."""
        found = migrate.version(self.database)
        if found == 0:
            _, found = self.migrate()
        migrate.check(found, self.database.dialect.name)

    def migrate(self) -> tuple[int, int]:
        return migrate.migrate(self.database)

    def close(self) -> None:
        notifier = self._own_notifier()
        if notifier is not None:
            notifier.close()
        self.database.close()


def borrow_store(connection: object) -> Store:
    """Make a store on a connection of the caller, apsw's or the standard library's sqlite3. None is opened."""
    from leasehold.store.db.sqlite_borrowed import BorrowedDialect

    return Store("", Database(BorrowedDialect(connection), connections=1))


def open_store(url: str, *, connections: int = 8, retry_seconds: float = RETRY_SECONDS) -> Store:
    return Store(url, Database(_dialect(url), connections=connections, retry_seconds=retry_seconds))


def _dialect(url: object) -> Dialect:
    if not isinstance(url, str):
        raise UrlInvalid(f"It must be a string, not {type(url).__name__}.")
    if "\0" in url:
        raise UrlInvalid("This one has a null character in it.")
    scheme, found, rest = url.partition("://")
    if found and scheme == "sqlite":
        return SqliteDialect(_path(rest))
    if found and scheme in ("postgresql", "postgres"):
        try:
            from leasehold.store.db.postgres import PostgresDialect
        except ImportError as error:
            raise DriverMissing(str(error)) from None
        return PostgresDialect(url)
    raise UrlInvalid(f"This one begins with {scheme[:20]!r}.")


def _path(rest: str) -> Path:
    if not rest.startswith("/") or len(rest) == 1:
        raise UrlInvalid("The path is missing.")
    if rest == "/:memory:":
        raise UrlInvalid("A file is needed, because workers share it; memory belongs to one connection.")
    return Path(rest[1:]).absolute()
