"""What callers hold of a transaction: a driver's connection, a SQLAlchemy Session or Connection, Django's connection.

Neither SQLAlchemy nor Django is imported here: an object is recognised by the classes that it is made of. Their own
savepoint goes around the block, so that they know of what is rolled back. What cannot be joined is refused with the
line that can.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Final

from leasehold.errors import ConnectionForeign, Misuse
from leasehold.store import AfterCommit, Store

PENDING: Final = "leasehold_after_commit"  # in a Session's own notes: what to call when its transaction has ended
SYNC: Final = "pass a Session of create_engine('postgresql+psycopg://…')"
DRIVER: Final = {"postgres": "pass one of psycopg.connect(…)", "sqlite": "pass one of apsw.Connection(…)"}
# By library and class: why not, and what to pass on PostgreSQL. On SQLite it is always a connection of apsw.
REFUSED: Final = {
    ("sqlalchemy", "AsyncSession"): ("is asynchronous", SYNC),
    ("sqlalchemy", "AsyncConnection"): ("is asynchronous", SYNC),
    ("sqlalchemy", "async_scoped_session"): ("is asynchronous", SYNC),
    ("sqlalchemy", "Engine"): (
        "has no transaction",
        "write `with Session(engine) as session, app.transaction(session):`",
    ),
    ("sqlalchemy", "sessionmaker"): (
        "has no transaction",
        "call it: `with maker() as session, app.transaction(session):`",
    ),
    ("django", "BaseConnectionHandler"): ("has many connections", "pass django.db.connections['default']"),
    ("psycopg", "AsyncConnection"): ("is asynchronous", DRIVER["postgres"]),
    ("psycopg", "BaseCursor"): ("is not a connection", "pass the cursor's: `app.transaction(cursor.connection)`"),
    ("psycopg_pool", "BasePool"): (
        "has many connections",
        "write `with pool.connection() as mine, app.transaction(mine):`",
    ),
    ("psycopg2", "connection"): ("is psycopg2's", DRIVER["postgres"]),
    ("asyncpg", "Connection"): ("is asyncpg's", DRIVER["postgres"]),
    ("sqlite3", "Connection"): ("is of Python's sqlite3, another SQLite library than the engine's", DRIVER["postgres"]),
    ("aiosqlite", "Connection"): (
        "is of Python's sqlite3, another SQLite library than the engine's",
        DRIVER["postgres"],
    ),
}
SECOND: Final = (
    "opens SQLite files with Python's sqlite3, and in one process a second SQLite library drops the locks of the first;"
    " write these rows with `connection = apsw.Connection(…)` and `with app.transaction(connection):`, or move to"
    " PostgreSQL"
)
OTHER_DRIVER: Final = {
    "SQLAlchemy": "uses {} here; make the engine with create_engine('postgresql+psycopg://…')",
    "Django": "uses {} here; install psycopg, which Django prefers: pip install 'psycopg[binary]'",
}


@dataclass(frozen=True, slots=True)
class Borrowed:
    """A driver's connection, and how its owner learns of the commit; without a way, its connection is looked at."""

    connection: object
    after_commit: AfterCommit | None = None


@contextmanager
def borrow(held: Any, store: Store) -> Iterator[Borrowed]:
    """Find the driver's connection in what the caller holds, with the owner's own savepoint around the block."""
    found = _classes(held)
    if ("sqlalchemy", "scoped_session") in found:
        held = held()
        found = _classes(held)
    with ExitStack() as block:
        if ("sqlalchemy", "Session") in found:
            yield _of_session(held, store, block)
        elif ("sqlalchemy", "Connection") in found:
            yield _of_connection(held, store, block)
        elif found & {("django", "ConnectionProxy"), ("django", "BaseDatabaseWrapper")}:
            yield _of_django(held, store, block)
        else:
            yield Borrowed(_of_driver(held, found, store))


def _classes(held: object) -> set[tuple[str, str]]:
    return {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(held).__mro__}


def _of_driver(held: object, found: set[tuple[str, str]], store: Store) -> object:
    """Refuse what is known to be no connection of ours; the dialect refuses the rest."""
    if store.url:  # else it works on one connection, whichever that is
        for refused in sorted(found & REFUSED.keys()):
            why, line = REFUSED[refused]
            line = line if store.database.dialect.name == "postgres" else DRIVER["sqlite"]
            raise ConnectionForeign(f"This {type(held).__name__} {why}; {line}.")
    return held


def _of_session(session: Any, store: Store, block: ExitStack) -> Borrowed:
    """The savepoint is the session's: it writes what it has gathered before the savepoint ends."""
    _check_engine(session.get_bind(), store)
    driver = _driver_of(session.connection())
    block.enter_context(session.begin_nested())
    session.connection()  # else the savepoint waits for the session's own first statement

    def after_commit(call: Callable[[], None]) -> None:
        if PENDING not in session.info:
            session.info[PENDING] = []
            sys.modules["sqlalchemy"].event.listen(session, "after_transaction_end", _call_pending)
        session.info[PENDING].append(call)

    return Borrowed(driver, after_commit)


def _call_pending(session: Any, transaction: Any) -> None:
    if transaction.parent is None:  # else it was a savepoint
        pending, session.info[PENDING] = session.info[PENDING], []
        for call in pending:
            call()


def _of_connection(connection: Any, store: Store, block: ExitStack) -> Borrowed:
    _check_engine(connection, store)
    driver = _driver_of(connection)
    block.enter_context(connection.begin_nested())
    return Borrowed(driver)


def _check_engine(engine: Any, store: Store) -> None:
    dialect = engine.dialect
    _check_database("SQLAlchemy", dialect.name, store)
    if dialect.driver != "psycopg" or dialect.is_async:
        raise ConnectionForeign(f"SQLAlchemy {OTHER_DRIVER['SQLAlchemy'].format(dialect.driver)}.")


def _driver_of(connection: Any) -> Any:
    driver = connection.connection.driver_connection
    if driver.autocommit:
        raise Misuse("This connection commits each statement by itself (AUTOCOMMIT); use another isolation level.")
    return driver


def _of_django(connection: Any, store: Store, block: ExitStack) -> Borrowed:
    _check_database("Django", connection.vendor, store)
    connection.ensure_connection()
    if ("psycopg", "Connection") not in _classes(connection.connection):
        library = type(connection.connection).__module__.partition(".")[0]
        raise ConnectionForeign(f"Django {OTHER_DRIVER['Django'].format(library)}.")
    atomic = sys.modules["django.db.transaction"].atomic
    if not connection.in_atomic_block:
        block.enter_context(atomic(using=connection.alias))
    block.enter_context(atomic(using=connection.alias))  # a savepoint, whose statement begins the transaction
    return Borrowed(connection.connection, connection.on_commit)


def _check_database(owner: str, found: str, store: Store) -> None:
    ours = store.database.dialect.name
    if ours == "sqlite" == found:
        raise ConnectionForeign(f"{owner} {SECOND}.")
    if not found.startswith(ours):
        raise ConnectionForeign(f"{owner} is connected to {found} here, and this app to {ours}; {DRIVER[ours]}.")
