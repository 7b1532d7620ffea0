"""The store: the only place that knows SQL. One small noun a file, two dialects, the same operations in both."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from leasehold.errors import DriverMissing, UrlInvalid
from leasehold.model.names import family_of
from leasehold.store.audit import Audit
from leasehold.store.db import migrate
from leasehold.store.db.database import Database, Dialect, binding_of
from leasehold.store.db.limits import RETRY_SECONDS
from leasehold.store.db.pool import keep_unclosed
from leasehold.store.db.sqlite import SqliteDialect
from leasehold.store.db.wake import WOKEN_MAX, Listener, Notifier, Profile
from leasehold.store.deadletters import DeadLetters
from leasehold.store.deadlines import Deadlines
from leasehold.store.deliveries import Deliveries
from leasehold.store.effects import Effects
from leasehold.store.holdups import HoldUps
from leasehold.store.journal import JournalLines
from leasehold.store.leases import Leases
from leasehold.store.machines import Machines
from leasehold.store.queues import Queues
from leasehold.store.records import Records
from leasehold.store.reports import Reports
from leasehold.store.retention import Pruner
from leasehold.store.stages import Stages
from leasehold.store.tasks import Tasks
from leasehold.store.tree.budgets import Budgets
from leasehold.store.tree.links import Links
from leasehold.store.workers import Losses, Workers

__all__ = ["Store", "borrow_store", "open_store"]

AfterCommit = Callable[[Callable[[], None]], None]


class Store:
    """One database of jobs, as small nouns: `tasks`, `leases`, `effects`, `stages`, `queues`, `workers` and so on."""

    def __init__(self, url: str, database: Database, notifiers: dict[int, Notifier] | None = None) -> None:
        """`notifiers` are another store's, which closes them."""
        self.url = url
        self.database = database
        self.tasks = Tasks(database)
        self.leases = Leases(database)
        self.losses = Losses(database)
        self.effects = Effects(database, self.wake)
        self.machines = Machines(database)
        self.budgets = Budgets(database)
        self.links = Links(database)
        self.stages = Stages(database)
        self.queues = Queues(database)
        self.workers = Workers(database)
        self.reports = Reports(database)
        self.holdups = HoldUps(database)
        self.records = Records(database)
        self.journal = JournalLines(database)
        self.retention = Pruner(database)
        self.deliveries = Deliveries(database)
        self.audit = Audit(database)
        self.deadletters = DeadLetters(database)
        self.deadlines = Deadlines(database)
        self._owns_notifiers = notifiers is None
        self._notifiers = {} if notifiers is None else notifiers  # of this process, by its pid

    def wake(self, hints: Iterable[str], sender: str = "", most: int = WOKEN_MAX) -> None:
        """Hint to `most` workers of each group that these queues got work, after the commit, and not to the sender.

        A branch is sent as its queue.
        """
        binding = binding_of(self.database)
        if binding is not None:
            binding.hints.update(hints)
        elif not self.database.dialect.in_transaction:
            self._notifier().send({family_of(hint) or hint for hint in hints}, sender, most)

    def _notifier(self) -> Notifier:
        notifier = self._own_notifier()
        if notifier is None:
            made = self.database.dialect.notifier()
            notifier = self._notifiers.setdefault(os.getpid(), made)
            if notifier is not made:  # another thread was first
                made.close()
        return notifier

    def _own_notifier(self) -> Notifier | None:
        for pid in [pid for pid in self._notifiers if pid != os.getpid()]:
            keep_unclosed(self._notifiers.pop(pid, None))  # a fork has neither its thread nor its own connection
        return self._notifiers.get(os.getpid())

    def sibling(self, retry_seconds: float = RETRY_SECONDS) -> Store:
        """Make a store on the same connections and notifier, with its own patience. Closing it leaves them open."""
        database = self.database
        sibling = Database(database.dialect, retry_seconds=retry_seconds, pool=database.pool)
        return Store(self.url, sibling, self._notifiers)

    def reserve(self) -> None:
        """Have a connection open, so that what is written later need not be granted one."""
        if not self.database.pool.has_open():
            self.database.read_transaction(lambda _: None)

    def close_rested(self, seconds: float, keep: int = 0) -> None:
        """Close connections that were not used for so long, except `keep` of those for operations."""
        self.database.pool.close_rested(seconds, keep)
        if (notifier := self._own_notifier()) is not None:
            notifier.close_rested(seconds)

    def listener(self, profile: Profile | None = None) -> Listener:
        """Receive wake-ups; without a profile, those of every queue."""
        return self.database.dialect.listener(profile or Profile())

    @contextmanager
    def transaction(self, connection: object, after_commit: AfterCommit | None = None) -> Iterator[None]:
        """Run this thread's calls inside a transaction of the caller's own connection.

        Wake-ups are sent when it has been committed. `after_commit` is how its owner learns of that, if there is a way.
        """
        with self.database.bound(connection) as binding:
            yield
            if binding.hints and not binding.ends_here:
                (after_commit or binding.session.after_commit)(partial(self.wake, binding.hints))
        if binding.hints and binding.ends_here:
            self.wake(binding.hints)

    def prepare(self) -> None:
        """Give a new database its schema; refuse one that is older or newer than this engine."""
        found = migrate.version(self.database)
        if found == 0:
            _, found = self.migrate()
        migrate.check(found, self.database.dialect.name)

    def schema_version(self) -> int:
        """Return the version of the schema, 0 without one. Nothing is made, not even a file."""
        return migrate.version(self.database) if self.database.dialect.exists() else 0

    def require_schema(self) -> None:
        """Refuse a database without a schema, or with an older or newer one than this engine's. Nothing is made."""
        migrate.check(self.schema_version(), self.database.dialect.name)

    def migrate(self) -> tuple[int, int]:
        return migrate.migrate(self.database)

    def truncate_wal(self) -> bool:
        """Give the disk back what a long reader of a SQLite file made its log grow to; return whether it was done."""
        return self.database.dialect.truncate_wal()

    def close(self) -> None:
        notifier = self._own_notifier() if self._owns_notifiers else None
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
