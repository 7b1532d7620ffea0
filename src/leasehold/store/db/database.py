"""A database as the store's nouns use it: named operations, transactions, and retries.

Every operation can be repeated: submits by key, settlements by fence, moves by the row that is no longer there. So
transient errors (busy, deadlock, lost connection, failover, a COMMIT without an answer) are retried here, and callers
get either an answer or one of our own errors. Driver errors never leave `store/`.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Final, Protocol, TypeVar

from leasehold.errors import DatabaseUnavailable, LeaseholdError
from leasehold.redact import RedactionFailed, scrub
from leasehold.store.db import limits
from leasehold.store.db.pool import ConnectionPool
from leasehold.store.db.wake import Listener, Notifier, Profile

Row = tuple[Any, ...]
T = TypeVar("T")


@dataclass(slots=True)
class Binding:
    """The connection of an open transaction. `is_whole`: without savepoints, so any error fails all of it.

    `hints` are wake-ups to send after the commit, which is the caller's unless the transaction `ends_here`.
    """

    session: Session
    is_open: bool = True
    is_whole: bool = False
    ends_here: bool = True
    hints: set[str] = field(default_factory=set)


# The open transaction that operations join, by database. A coroutine's binding is invisible to others of its thread.
_bound: Final[ContextVar[dict[int, Binding]]] = ContextVar("leasehold_bound", default={})  # noqa: B039 — never changed


class ErrorKind(Enum):
    RETRY = auto()  # nothing happened: repeat on the same connection
    RECONNECT = auto()  # it may or may not have happened: repeat on a new connection
    FINAL = auto()  # repeating cannot help


class Session(Protocol):
    """One connection."""

    @property
    def raw(self) -> object:
        """The driver's own connection, for statements of the caller."""

    @property
    def usable(self) -> bool:
        """Whether the connection is open."""

    @property
    def supports_copy(self) -> bool:
        """Whether the database has COPY."""

    def copy_in(self, name: str, texts: Iterable[str]) -> None:
        """Add rows to a table by COPY, each a line of a text."""

    def run(self, name: str, /, **values: object) -> list[Row]:
        """Run a named operation and return its rows."""

    def atomic(self, *, write: bool) -> AbstractContextManager[object]:
        """Make what runs inside one transaction."""

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open on the connection."""

    def after_commit(self, call: Callable[[], None]) -> None:
        """Call this when the caller has ended the open transaction; not at all where nobody can know of it."""

    def script(self, name: str) -> None:
        """Run a file of definitions."""

    def set_clock(self, now: int) -> None:
        """Stop the database's clock at `now`, for tests."""

    def close(self) -> None:
        """Close the connection, if it is ours."""


class Dialect(Protocol):
    """What differs between databases."""

    name: str

    @property
    def single_writer(self) -> bool:
        """Whether only one connection writes at a time. Even a single statement is a transaction then."""

    @property
    def in_transaction(self) -> bool:
        """Whether all work is done on one connection of the caller, with an open transaction."""

    def exists(self) -> bool:
        """Whether there is a database that may have our schema; finding out makes and changes nothing."""

    def connect(self) -> Session:
        """Open a connection of our own."""

    def adopt(self, connection: object) -> Session:
        """Wrap a connection of the caller, or raise `ConnectionForeign`."""

    def listener(self, profile: Profile) -> Listener:
        """Receive wake-ups of this database that are for this profile."""

    def notifier(self) -> Notifier:
        """Send wake-ups to this database's listeners."""

    def truncate_wal(self) -> bool:
        """Truncate the file of the write-ahead log if it is large and nobody reads it; return whether it was."""

    def classify(self, error: Exception) -> ErrorKind | None:
        """Return what an error means, or None if it is not the driver's."""

    def translate(self, error: Exception) -> LeaseholdError:
        """Turn a final driver error into one of ours."""


class Database:
    """Runs operations on pooled connections, or on the caller's own within `bound`."""

    def __init__(
        self,
        dialect: Dialect,
        *,
        connections: int = 1,
        retry_seconds: float = limits.RETRY_SECONDS,
        pool: ConnectionPool[Session] | None = None,  # another database's, which closes it
        wait: Callable[[float], bool] | None = None,  # sleeps between two tries; returns whether it was closed
    ) -> None:
        self.dialect = dialect
        self.retry_seconds = retry_seconds
        self.pool = pool or ConnectionPool(dialect.connect, connections)
        self._owns_pool = pool is None
        self._closing = threading.Event()
        self._wait = wait or self._closing.wait
        self._reached = False

    def read(self, name: str, /, **values: object) -> list[Row]:
        """Run an operation that changes nothing."""
        return self._persist(lambda session: session.run(name, **values), write=False, alone=True)[0]

    def write(self, name: str, /, **values: object) -> list[Row]:
        """Run one operation as a transaction of its own."""
        return self._persist(lambda session: session.run(name, **values), write=True, alone=True)[0]

    def perform(self, work: Callable[[Session], T]) -> T:
        """Run operations that need not be one transaction: each is one by itself where the database allows."""
        return self._persist(work, write=True, alone=True)[0]

    def write_checked(self, work: Callable[[Session], T]) -> tuple[T, bool]:
        """Like `perform`; also return whether an earlier try may have been committed without an answer."""
        return self._persist(work, write=True, alone=True)

    def transact(self, work: Callable[[Session], T]) -> T:
        """Run several operations as one transaction; after a transient error `work` is called again."""
        return self._persist(work, write=True, alone=False)[0]

    def read_transaction(self, work: Callable[[Session], T]) -> T:
        """Run several reads as one transaction; after a transient error `work` is called again."""
        return self._persist(work, write=False, alone=False)[0]

    def transact_checked(self, work: Callable[[Session], T]) -> tuple[T, bool]:
        """Like `transact`; also return whether an earlier try may have been committed without an answer."""
        return self._persist(work, write=True, alone=False)

    @contextmanager
    def bound(self, connection: object) -> Iterator[Binding]:
        """Run the operations of this thread or coroutine on the caller's connection, inside one transaction of it."""
        callers: Exception | None = None
        is_entered = False
        try:
            session = self.dialect.adopt(connection)
            ends_here = not session.in_transaction
            with session.atomic(write=True), self.joined(session) as binding:
                is_entered, binding.ends_here = True, ends_here
                try:
                    yield binding
                except Exception as error:
                    callers = error
                    raise
        except Exception as error:
            # Errors of the caller's own statements, and of constraints checked at COMMIT, are raised unchanged.
            if error is callers or (is_entered and self.dialect.classify(error) is ErrorKind.FINAL):
                raise
            raise self._ours(error) from error

    @contextmanager
    def joined(self, session: Session, *, is_whole: bool = False) -> Iterator[Binding]:
        """Run the operations of this thread inside the transaction that this session has open."""
        binding = Binding(session, is_whole=is_whole)
        token = _bound.set({**_bound.get(), id(self): binding})
        try:
            yield binding
        finally:
            binding.is_open = False  # for a task or thread that was started inside and inherited it
            with suppress(ValueError):  # the block ended in another context than it began in
                _bound.reset(token)

    def in_one_transaction(self, work: Callable[[], T]) -> T:
        """Run the operations that `work` calls as one transaction; after a transient error it is called again."""

        def join(session: Session) -> T:
            with self.joined(session, is_whole=True):
                return work()

        return self.transact(join)

    @property
    def is_bound(self) -> bool:
        """Whether this thread or coroutine works inside a transaction of the caller."""
        return binding_of(self) is not None or self.dialect.in_transaction

    def close(self) -> None:
        """Close all connections, unless they are another's; operations that are being retried give up."""
        self._closing.set()
        if self._owns_pool:
            self.pool.close()

    def _persist(self, work: Callable[[Session], T], *, write: bool, alone: bool) -> tuple[T, bool]:
        binding = binding_of(self)
        if binding is not None:
            return work(binding.session) if binding.is_whole else self._once(binding.session, work, write=write), False
        in_doubt = False
        started = time.monotonic()
        pause = limits.RETRY_PAUSE_FIRST
        while True:
            try:
                return self._on_pooled(work, write=write, alone=alone), in_doubt
            except Exception as error:
                kind = self.dialect.classify(error)
                if kind is None or kind is ErrorKind.FINAL:
                    raise self._ours(error) from error
                in_doubt = in_doubt or kind is ErrorKind.RECONNECT
                self._reached = self._reached or kind is ErrorKind.RETRY  # busy is an answer
                self._pause_or_give_up(error, started, pause)
                pause = min(pause * 2, limits.RETRY_PAUSE_MAX)

    def _once(self, session: Session, work: Callable[[Session], T], *, write: bool) -> T:
        try:
            with session.atomic(write=write):  # a savepoint: an error leaves nothing in the caller's transaction
                return work(session)
        except Exception as error:
            raise self._ours(error) from error

    def _on_pooled(self, work: Callable[[Session], T], *, write: bool, alone: bool) -> T:
        session = self.pool.acquire()
        try:
            if alone and not self.dialect.single_writer:
                result = work(session)
            else:
                with session.atomic(write=write):
                    result = work(session)
        except Exception as error:
            if self.dialect.classify(error) is ErrorKind.RECONNECT or not session.usable:
                self.pool.discard(session)
            else:
                self.pool.release(session)
            raise
        except BaseException:
            self.pool.discard(session)
            raise
        self.pool.release(session)
        self._reached = True
        return result

    def _pause_or_give_up(self, error: Exception, started: float, pause: float) -> None:
        limit = self.retry_seconds if self._reached else min(self.retry_seconds, limits.FIRST_ANSWER_SECONDS)
        spent = time.monotonic() - started >= limit
        if spent or self._wait(pause * random.uniform(0.5, 1.0)):
            raise DatabaseUnavailable(f"Last error: {one_line(error)}.") from error

    def _ours(self, error: Exception) -> Exception:
        kind = self.dialect.classify(error)
        if kind is None:
            return error
        if kind is ErrorKind.FINAL:
            return self.dialect.translate(error)
        return DatabaseUnavailable(f"Last error: {one_line(error)}.")


def binding_of(database: Database) -> Binding | None:
    """Return the open transaction that operations of this thread or coroutine join."""
    binding = _bound.get().get(id(database))
    return binding if binding is not None and binding.is_open else None


class Noun:
    """A part of the store: the operations on one kind of rows."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def _list(self, kind: Callable[..., T], name: str, /, **values: object) -> list[T]:
        """Run an operation that changes nothing, and make one of `kind` of each row."""
        return [kind(*row) for row in self._database.read(name, **values)]


def one_line(error: Exception) -> str:
    """Return a driver's message in one short line. It is redacted before it is cut: half a secret is not recognised."""
    try:
        text = scrub(str(error)[: limits.DRIVER_TEXT_MAX])
    except RedactionFailed:
        text = ""
    return " ".join(text.split())[:300] or type(error).__name__
