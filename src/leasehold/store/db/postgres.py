"""The PostgreSQL dialect: any number of worker machines. A single operation is one statement in autocommit."""

from __future__ import annotations

import os
import re
import select
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import cached_property
from typing import Final
from weakref import WeakKeyDictionary

import psycopg
from psycopg import errors as pg
from psycopg import sql
from psycopg.pq import PipelineStatus, TransactionStatus
from psycopg.rows import tuple_row

from leasehold import errors
from leasehold.store.db import statements
from leasehold.store.db.database import ErrorKind, Row, one_line
from leasehold.store.db.limits import CONNECT, ROWS_KEPT_MAX
from leasehold.store.db.postgres_wake import COMMIT_WATCH, PostgresListener, PostgresNotifier, dial
from leasehold.store.db.wake import CoalescingNotifier, Profile

RETRY: Final = ("40001", "40P01", "55P03", "53300", "57014")
RECONNECT: Final = ("25006", "25P03", "25P04", "57P01", "57P02", "57P03", "57P05")
# Rows are looked up by key. A scan looks cheap while a table is empty, and a plan made then is kept for a while.
# A process that is frozen inside a transaction of ours holds its rows no longer than the last limit.
SETTINGS: Final = (
    "SET jit = off; SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_mergejoin = off;"
    " SET enable_memoize = off;"
    " SET idle_in_transaction_session_timeout = '2s'"
)


_denied: Final = re.compile(r'permission denied for (\w+) "?([^"\n]+)"?')
_plain: Final = re.compile(r"[a-z_][a-z0-9_]*")
# By the kind of what was denied; the schema and everything in it is the engine's own.
_GRANTS: Final = {
    "schema": "GRANT USAGE ON SCHEMA leasehold",
    "table": "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA leasehold",
    "view": "GRANT SELECT ON ALL TABLES IN SCHEMA leasehold",
    "sequence": "GRANT USAGE ON ALL SEQUENCES IN SCHEMA leasehold",
    "function": "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA leasehold",
}


class PostgresDialect:
    name = "postgres"
    single_writer = False
    in_transaction = False

    def __init__(self, url: str) -> None:
        try:
            given = psycopg.conninfo.conninfo_to_dict(url)
        except psycopg.Error as error:
            raise errors.UrlInvalid(f"It cannot be read: {error}.") from None
        self.conninfo = psycopg.conninfo.make_conninfo(url, **{k: v for k, v in CONNECT.items() if k not in given})
        self._user = str(given.get("user") or os.environ.get("PGUSER") or "the_user")
        self._known: WeakKeyDictionary[psycopg.Connection[Row], bool] = WeakKeyDictionary()
        self._known_of = os.getpid()

    def exists(self) -> bool:
        return True  # a connection makes nothing here

    def connect(self) -> PostgresSession:
        connection = dial(self.conninfo)
        try:
            check_encoding(connection)
            session = PostgresSession(connection, own=True, is_pooled=is_pooled(connection))
            if session.is_pooled:
                connection.prepare_threshold = None  # also for statements of the caller on this connection
            else:
                connection.execute(SETTINGS)
        except BaseException:
            connection.close()
            raise
        return session

    def adopt(self, connection: object) -> PostgresSession:
        """Wrap the caller's psycopg connection, which must lead to the same database."""
        if not isinstance(connection, psycopg.Connection):
            raise errors.ConnectionForeign(
                f"This is {type(connection).__name__}; PostgreSQL needs a connection of psycopg.connect(…)."
            )
        if connection.pgconn.pipeline_status != PipelineStatus.OFF:
            raise errors.Misuse("In pipeline mode no statement is answered in time; leave it before the transaction.")
        if self._known_of != os.getpid():  # in a forked child none is known
            self._known, self._known_of = WeakKeyDictionary(), os.getpid()
        if connection not in self._known:
            if _query(connection, "home") != self._home:
                raise errors.ConnectionForeign(
                    f"It leads to {connection.info.dbname!r} on {connection.info.host!r}; open it with this app's URL."
                )
            self._known[connection] = is_pooled(connection)
        return PostgresSession(connection, own=False, is_pooled=self._known[connection])

    @cached_property
    def _home(self) -> Row:
        """The identity of the database, wherever it has moved: the numbers of the cluster and the database."""
        with dial(self.conninfo) as connection:
            return _query(connection, "home")

    def listener(self, profile: Profile) -> PostgresListener:
        return PostgresListener(self.conninfo, profile)

    def notifier(self) -> CoalescingNotifier:
        return CoalescingNotifier(PostgresNotifier(self.conninfo))

    def truncate_wal(self) -> bool:
        return False  # the server's own concern

    def classify(self, error: Exception) -> ErrorKind | None:
        if not isinstance(error, psycopg.Error):
            return None
        state = error.sqlstate or ""
        if state in RETRY:
            return ErrorKind.RETRY
        if state in RECONNECT or state.startswith("08"):
            return ErrorKind.RECONNECT
        if not state and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
            return ErrorKind.FINAL if is_denied_connection(str(error)) else ErrorKind.RECONNECT
        return ErrorKind.FINAL

    def translate(self, error: Exception) -> errors.LeaseholdError:
        text = f"PostgreSQL: {one_line(error)}."
        match error:
            case pg.UndefinedTable() | pg.InvalidSchemaName() | pg.UndefinedFunction() | pg.UndefinedColumn():
                return errors.SchemaMissing(text)
            case pg.InsufficientPrivilege():
                return errors.RightsMissing(f"{text} {grant_for(str(error), self._user, connected=True)}")
            case psycopg.OperationalError() if not error.sqlstate:
                return errors.RightsMissing(f"{text} {grant_for(str(error), self._user, connected=False)}")
            case pg.DiskFull():
                return errors.DiskFull(text)
            case pg.OutOfMemory() | pg.IoError():
                return errors.DatabaseUnavailable(text)
            case psycopg.DataError():
                return errors.ResultRefused(text)
            case psycopg.IntegrityError():
                return errors.Broken(text)
            case _:
                return errors.Misuse(text)


def check_encoding(connection: psycopg.Connection[Row]) -> None:
    """Refuse a database that cannot store every text."""
    found = connection.info.parameter_status("server_encoding")
    if found not in (None, "UTF8"):
        raise errors.EncodingUnsupported(f"The encoding of {connection.info.dbname!r} is {found}.")


def is_pooled(connection: psycopg.Connection[Row]) -> bool:
    """Return whether a pooler is in between: it gives its own number instead of the server process's."""
    return _query(connection, "backend") != (connection.info.backend_pid,)


def _query(connection: psycopg.Connection[Row], name: str) -> Row:
    is_alone = connection.autocommit and connection.info.transaction_status is TransactionStatus.IDLE
    # A savepoint, so that an error leaves the caller's transaction intact.
    bracket = nullcontext() if is_alone else connection.transaction()
    with bracket, psycopg.Cursor(connection, row_factory=tuple_row) as cursor:
        return cursor.execute(statements.encoded("postgres", f"session/{name}"), prepare=False).fetchall()[0]


class PostgresSession:
    """One psycopg connection, ours or the caller's.

    Behind a pooler nothing is prepared and nothing is set: clients share the server's session. A statement that
    another client has prepared under the same name would run with our values.
    """

    supports_copy = True

    def __init__(self, connection: psycopg.Connection[Row], *, own: bool, is_pooled: bool) -> None:
        self._connection = connection
        self._own = own
        self.is_pooled = is_pooled
        self._prepare = False if is_pooled else None
        # One cursor for all operations: it caches how to adapt parameters and rows.
        self._cursor = psycopg.Cursor(connection, row_factory=tuple_row)  # not the caller's own row factory

    @property
    def raw(self) -> object:
        return self._connection

    @property
    def usable(self) -> bool:
        """Whether it is open, and the server has not ended it meanwhile: an idle connection receives nothing else."""
        if self._connection.closed:
            return False
        look = select.poll()
        look.register(self._connection.fileno(), select.POLLIN)
        return self.in_transaction or not look.poll(0)

    @property
    def in_transaction(self) -> bool:
        return self._connection.info.transaction_status is not TransactionStatus.IDLE

    def after_commit(self, call: Callable[[], None]) -> None:
        COMMIT_WATCH.add(self._connection, call)

    def run(self, name: str, /, **values: object) -> list[Row]:
        cursor = self._cursor
        cursor.execute(statements.encoded("postgres", name), values, binary=True, prepare=self._prepare)
        rows = cursor.fetchall() if cursor.description else []
        if len(rows) > ROWS_KEPT_MAX:
            self._cursor = psycopg.Cursor(self._connection, row_factory=tuple_row)  # frees a large result
        return rows

    def copy_in(self, name: str, texts: Iterable[str]) -> None:
        with psycopg.Cursor(self._connection) as cursor, cursor.copy(statements.encoded("postgres", name)) as copy:
            for text in texts:
                copy.write(text)

    def script(self, name: str) -> None:
        self._connection.execute(statements.encoded("postgres", name), prepare=False)

    @contextmanager
    def atomic(self, *, write: bool) -> Iterator[None]:  # noqa: ARG002 — PostgreSQL needs no announcement
        is_outermost = not self.in_transaction
        with self._connection.transaction():
            if self._own and self.is_pooled and is_outermost:
                self.script("session/pooled")
            if not self._own and self._connection.info.encoding != "utf-8":
                self.script("session/utf8")
            yield
            if self._connection.info.transaction_status is TransactionStatus.INERROR:
                # The server would answer COMMIT with a silent rollback.
                raise errors.Misuse(
                    "A statement of this transaction failed, so it cannot be committed; nothing was written."
                )

    def set_clock(self, now: int) -> None:
        if self.run("session/manual_clock_exists") != [(True,)]:
            self.script("session/manual_clock")
        self.run("session/manual_clock_set", now=now)

    def close(self) -> None:
        if self._own:
            with suppress(psycopg.Error):
                self._connection.close()


def is_denied_connection(message: str) -> bool:
    """Whether a server refused the connection because of a right; such an error has no code."""
    found = _denied.search(message)
    return found is not None and found[1] == "database"


def grant_for(message: str, user: str, *, connected: bool) -> str:
    """Return the statement that gives a user what PostgreSQL denied; or who may do it, where no grant does."""
    name = user if _plain.fullmatch(user) else '"' + user.replace('"', '""') + '"'
    if (found := _denied.search(message)) is None:
        return "Only the owner of the schema may do this."
    if found[1] == "database":
        return f'Its owner may run: GRANT {"CREATE" if connected else "CONNECT"} ON DATABASE "{found[2]}" TO {name};'
    if found[1] not in _GRANTS:
        return "Ask the owner of the database for it."
    return f"Its owner may run: {_GRANTS[found[1]]} TO {name};"


def answers(url: str) -> bool:
    """Whether a server accepts connections."""
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True


def create_database(url: str, name: str) -> None:
    """Make a database on the server of this URL."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))


def drop_database(url: str, name: str) -> None:
    """Drop a database with whatever is still connected to it."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
