"""A database as the store's nouns use it: named operations, transactions, and trouble that is dealt with inside.

Every operation can be repeated: submits by key, settlements by fence, moves by the row that is no longer there. So
transient trouble (busy, deadlock, lost connection, failover, a COMMIT without an answer) is retried here, and
callers see either an answer or one of our own errors. Driver errors never leave `store/`.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final, Protocol, TypeVar

from leasehold.errors import DatabaseUnavailable, LeaseholdError
from leasehold.redact import RedactionFailed, scrub
from leasehold.store.db.pool import Pool
from leasehold.store.db.wake import Listener, Notifier

Row = tuple[Any, ...]
T = TypeVar("T")

PATIENCE_SECONDS: Final = 60.0
FIRST_PATIENCE_SECONDS: Final = 3.0
PAUSE_FIRST: Final = 0.005
PAUSE_MAX: Final = 1.0
SAID_LENGTH_MAX: Final = 32 * 1024


@dataclass(slots=True)
class _Binding:
    """The caller's connection for as long as its transaction is open. `is_whole`: what fails in it fails all of it."""

    session: Session
    is_open: bool = True
    is_whole: bool = False


# Which caller's connection operations run on, by database; a coroutine's binding is not seen by others of its thread.
_bound: Final[ContextVar[dict[int, _Binding]]] = ContextVar("leasehold_bound", default={})  # noqa: B039 — never changed


class ErrorKind(Enum):
    """What a driver's error means for the operation that met it."""

    RETRY = auto()  # nothing happened: repeat on the same connection
    RECONNECT = auto()  # it may or may not have happened: repeat on a new connection
    FINAL = auto()  # repeating cannot help


class Session(Protocol):
    """One connection."""

    @property
    def raw(self) -> object:
        """The driver's own connection, for statements of the caller's."""

    @property
    def usable(self) -> bool:
        """Whether the connection is open."""

    @property
    def supports_copy(self) -> bool:
        """Whether rows can be poured into tables."""

    def copy_in(self, name: str, texts: Iterable[str]) -> None:
        """Add rows to a table, each a line of a text; for a database that takes in many rows faster so."""

    def run(self, name: str, /, **values: object) -> list[Row]:
        """Run a named operation and return its rows."""

    def atomic(self, *, write: bool) -> AbstractContextManager[object]:
        """Make what runs inside one transaction."""

    def script(self, folder: str, name: str) -> None:
        """Run a file of definitions."""

    def set_clock(self, now: int) -> None:
        """Stop the database's clock at `now`, for tests."""

    def close(self) -> None:
        """Let the connection go."""


class Dialect(Protocol):
    """What differs between databases."""

    name: str

    @property
    def single_writer(self) -> bool:
        """Whether whoever writes waits until nobody else does. Even a single statement is bracketed then."""

    @property
    def in_transaction(self) -> bool:
        """Whether all connections are one of the caller's with an open transaction."""

    def connect(self) -> Session:
        """Open a connection of our own."""

    def adopt(self, connection: object) -> Session:
        """Wrap a connection of the caller's, or raise `ConnectionForeign`."""

    def listener(self) -> Listener:
        """Hear wake-ups of this database."""

    def notifier(self) -> Notifier:
        """Send wake-ups to this database's ears."""

    def classify(self, error: Exception) -> ErrorKind | None:
        """Tell what an error means, or None if it is not the driver's."""

    def translate(self, error: Exception) -> LeaseholdError:
        """Turn a final driver error into one of ours."""


class Database:
    """Runs operations on pooled connections, or on the caller's own within `bound`.

    `wait` passes the time between two tries and tells whether the database was closed meanwhile.
    """

    def __init__(
        self,
        dialect: Dialect,
        *,
        connections: int,
        retry_seconds: float = PATIENCE_SECONDS,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        self.dialect = dialect
        self.retry_seconds = retry_seconds
        self._pool: Pool[Session] = Pool(dialect.connect, connections)
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
        """Like `perform`; also tell whether an earlier try may have been committed without an answer."""
        return self._persist(work, write=True, alone=True)

    def transact(self, work: Callable[[Session], T]) -> T:
        """Run several operations as one transaction; `work` may be called again after trouble."""
        return self._persist(work, write=True, alone=False)[0]

    def read_transaction(self, work: Callable[[Session], T]) -> T:
        """Run several reads as one transaction that changes nothing; `work` may be called again after trouble."""
        return self._persist(work, write=False, alone=False)[0]

    def transact_checked(self, work: Callable[[Session], T]) -> tuple[T, bool]:
        """Like `transact`; also tell whether an earlier try may have been committed without an answer."""
        return self._persist(work, write=True, alone=False)

    @contextmanager
    def bound(self, connection: object) -> Iterator[None]:
        """Have operations of this thread or coroutine run on the caller's connection, inside one transaction of it."""
        theirs: Exception | None = None
        token = binding = None
        try:
            session = self.dialect.adopt(connection)
            with session.atomic(write=True):
                binding = _Binding(session)
                token = _bound.set({**_bound.get(), id(self): binding})
                try:
                    yield
                except Exception as error:
                    theirs = error
                    raise
        except Exception as error:
            # The caller's own statements, and constraints checked at COMMIT, fail in the caller's own words.
            if error is theirs or (token is not None and self.dialect.classify(error) is ErrorKind.FINAL):
                raise
            raise self._ours(error) from error
        finally:
            if binding is not None:
                binding.is_open = False  # for whoever inherited it: a task or thread begun inside
            if token is not None:
                with suppress(ValueError):  # left in another context than it was entered in
                    _bound.reset(token)

    @contextmanager
    def lent(self, session: Session, *, is_whole: bool = False) -> Iterator[None]:
        """Have operations of this thread take part in the transaction that this session has open."""
        binding = _Binding(session, is_whole=is_whole)
        token = _bound.set({**_bound.get(), id(self): binding})
        try:
            yield
        finally:
            binding.is_open = False
            _bound.reset(token)

    def in_one_transaction(self, work: Callable[[], T]) -> T:
        """Have the operations that `work` calls take part in one transaction; it may be called again after trouble."""

        def take_part(session: Session) -> T:
            with self.lent(session, is_whole=True):
                return work()

        return self.transact(take_part)

    @property
    def is_bound(self) -> bool:
        """Whether this thread or coroutine works inside a transaction of the caller's."""
        return self._binding() is not None or self.dialect.in_transaction

    def _binding(self) -> _Binding | None:
        binding = _bound.get().get(id(self))
        return binding if binding is not None and binding.is_open else None

    def close(self) -> None:
        """Close all connections; operations that wait for the database give up."""
        self._closing.set()
        self._pool.close()

    def _persist(self, work: Callable[[Session], T], *, write: bool, alone: bool) -> tuple[T, bool]:
        binding = self._binding()
        if binding is not None:
            return work(binding.session) if binding.is_whole else self._once(binding.session, work, write=write), False
        in_doubt = False
        started = time.monotonic()
        pause = PAUSE_FIRST
        while True:
            try:
                return self._on_pooled(work, write=write, alone=alone), in_doubt
            except Exception as error:
                trouble = self.dialect.classify(error)
                if trouble is None or trouble is ErrorKind.FINAL:
                    raise self._ours(error) from error
                in_doubt = in_doubt or trouble is ErrorKind.RECONNECT
                self._reached = self._reached or trouble is ErrorKind.RETRY  # busy is an answer
                self._pause_or_give_up(error, started, pause)
                pause = min(pause * 2, PAUSE_MAX)

    def _once(self, session: Session, work: Callable[[Session], T], *, write: bool) -> T:
        try:
            with session.atomic(write=write):  # a savepoint: what fails leaves nothing in the caller's transaction
                return work(session)
        except Exception as error:
            raise self._ours(error) from error

    def _on_pooled(self, work: Callable[[Session], T], *, write: bool, alone: bool) -> T:
        session = self._pool.take()
        try:
            if alone and not self.dialect.single_writer:
                result = work(session)
            else:
                with session.atomic(write=write):
                    result = work(session)
        except Exception as error:
            self._let_go(session, error)
            raise
        except BaseException:
            self._pool.drop(session)
            raise
        self._pool.give(session)
        self._reached = True
        return result

    def _let_go(self, session: Session, error: Exception) -> None:
        if self.dialect.classify(error) is ErrorKind.RECONNECT or not session.usable:
            self._pool.drop(session)
        else:
            self._pool.give(session)

    def _pause_or_give_up(self, error: Exception, started: float, pause: float) -> None:
        retry_seconds = self.retry_seconds if self._reached else min(self.retry_seconds, FIRST_PATIENCE_SECONDS)
        spent = time.monotonic() - started >= retry_seconds
        if spent or self._wait(pause * random.uniform(0.5, 1.0)):
            raise DatabaseUnavailable(f"Last trouble: {one_line(error)}.") from error

    def _ours(self, error: Exception) -> Exception:
        trouble = self.dialect.classify(error)
        if trouble is None:
            return error
        if trouble is ErrorKind.FINAL:
            return self.dialect.translate(error)
        return DatabaseUnavailable(f"Last trouble: {one_line(error)}.")


def one_line(error: Exception) -> str:
    """Return what a driver says in one short line: redacted first, as half a secret would not be known for one."""
    try:
        said = scrub(str(error)[:SAID_LENGTH_MAX])
    except RedactionFailed:
        said = ""
    return " ".join(said.split())[:300] or type(error).__name__
